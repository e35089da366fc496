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
  const isPage = new URL(request.url).pathname === '/';
  const key = isPage ? '/' : request.url;
  const cache = await caches.open('shell');
  const kept = await cache.match(key);
  try {
    const fresh = await fetch(request);
    if (!fresh.ok) return fresh;
    // Another version of the page has other files.
    const isNew = isPage && kept?.headers.get('etag') !== fresh.headers.get('etag');
    if (isNew) for (const old of await cache.keys()) await cache.delete(old);
    await cache.put(key, fresh.clone());
    return fresh;
  } catch (error) {
    if (kept === undefined) throw error;
    return kept;
  }
}

export {};
