/**
 * Where the code of a thread is. Always holds: it is compiled code, also when tests run the caller
 * as source, which Node.js could not run.
 */

/** From this file as source. */
const ROOT = new URL('../../', import.meta.url);

/** @param callerUrl the caller's `import.meta.url`. @param name of the compiled file beside it. */
export function threadUrl(callerUrl: string, name: string): URL {
  const url = new URL(name, callerUrl);
  if (!callerUrl.endsWith('.ts')) return url;
  return new URL(`dist/${url.href.slice(ROOT.href.length)}`, ROOT);
}
