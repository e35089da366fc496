/**
 * A service worker that keeps the page and its files, so that the site opens without a connection
 * and shows that it has none. It answers from what it keeps only while the exchange does not.
 */
interface FetchEvent extends Event {
  request: Request;
  respondWith: (answer: Promise<Response>) => void;
}

addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  const { origin, pathname } = new URL(request.url);
  const isShell = pathname === '/' || pathname.startsWith('/site/');
  if (origin === location.origin && isShell && request.method === 'GET')
    (event as FetchEvent).respondWith(answer(request));
});

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  try {
    const fresh = await fetch(request);
    // A proxy or a standby answers 5xx while the exchange is away.
    if (fresh.ok) void keep(pathname, fresh.clone());
    else if (pathname === '/' && fresh.status >= 500) return (await kept(pathname)) ?? fresh;
    return fresh;
  } catch (error) {
    const old = await kept(pathname);
    if (old === undefined) throw error;
    return old;
  }
}

/** A failure, such as a full disk, must not cost the visitor the fresh answer. */
async function keep(pathname: string, fresh: Response): Promise<void> {
  try {
    const cache = await caches.open('shell');
    const old = await cache.match(pathname);
    await cache.put(pathname, fresh.clone());
    // Another version of the page has other files.
    if (pathname !== '/' || old?.headers.get('etag') === fresh.headers.get('etag')) return;
    for (const { url } of await cache.keys())
      if (new URL(url).pathname !== '/') await cache.delete(url);
  } catch {}
}

async function kept(pathname: string): Promise<Response | undefined> {
  try {
    return await (await caches.open('shell')).match(pathname);
  } catch {
    return undefined;
  }
}

export {};
