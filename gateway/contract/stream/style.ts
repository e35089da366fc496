/** The style of the stream's page, and a policy that allows only this style. */
import { createHash } from 'node:crypto';

export const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h1,h2,h3{line-height:1.2}h3{margin-top:2rem}code{font:14px ui-monospace,monospace}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid #ccc}
a{color:#0b57d0}nav ul{columns:3}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}a{color:#8ab4f8}th,td{border-color:#444}}`;

export const STREAM_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
