/** A market's page for link previews (https://ogp.me). Browsers continue to the site. */

export const HTML_TYPE = 'text/html; charset=utf-8';
/** Optionally with a port. Other text could break out of an HTML attribute. */
const HOST = /^[\w.:[\]-]+$/;

interface Shown {
  id: string;
  title: string;
  resolution: 'UP' | 'DOWN' | 'VOID' | null;
  startPrice: number | null;
  endPrice: number | null;
}

/** The picture's address must be absolute. */
export function cardPage(market: Shown, { scheme, host }: { scheme: string; host: string }) {
  const { id, startPrice, endPrice } = market;
  const title = titleOf(market);
  const said =
    startPrice === null || endPrice === null
      ? 'Will the price be up or down in 15 minutes?'
      : `From ${dollars(startPrice)} to ${dollars(endPrice)}.`;
  const to = `/#/market/${id}`;
  const picture = `/site/card-${(market.resolution ?? 'open').toLowerCase()}.png`;
  return `<!doctype html>
<html lang="en" prefix="og: https://ogp.me/ns#">
  <head>
    <meta charset="utf-8">
    <title>${title}</title>
    <meta property="og:type" content="website">
    <meta property="og:site_name" content="Quarter-Hour Exchange">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${said} Trade on the answer.">
    ${HOST.test(host) ? `<meta property="og:image" content="${scheme}://${host}${picture}">` : ''}
    <meta name="twitter:card" content="summary_large_image">
    <meta http-equiv="refresh" content="0; url=${to}">
  </head>
  <body><p><a href="${to}">${title}</a></p></body>
</html>
`;
}

function titleOf({ title, resolution }: Shown): string {
  if (resolution === null) return title;
  return `${title}: ${resolution === 'VOID' ? 'void' : `${resolution} won`}`;
}

function dollars(price: number): string {
  return price.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}
