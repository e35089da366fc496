/** Registers the service worker (worker.ts), which browsers accept from secure origins only. */
type Policy = { createScriptURL: (path: string) => string };
type Policies = { createPolicy: (name: string, rules: Policy) => Policy };

const PATH = '/site/worker.js';
const { trustedTypes } = globalThis as { trustedTypes?: Policies };
// The page's Content-Security-Policy allows this policy, which accepts no other script.
const policy = trustedTypes?.createPolicy('worker', { createScriptURL: () => PATH });

if ('serviceWorker' in navigator)
  navigator.serviceWorker
    .register(policy?.createScriptURL(PATH) ?? PATH, { scope: '/' })
    .catch(() => {
      // Without it, the site only needs a connection to open.
    });

export {};
