/** The OpenAPI document's page: Swagger UI (swagger-ui-dist). It loads nothing from other hosts. */
import { TITLE } from './prose.js';

export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${TITLE}: API</title>
    <link rel="icon" type="image/svg+xml" href="/api/docs/icon.svg">
    <link rel="stylesheet" href="/api/docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/api/docs/swagger-ui-bundle.js"></script>
    <script src="/api/docs/start.js"></script>
  </body>
</html>
`;

/** No online validator, and no settings from the page's URL. */
export const START = `SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  queryConfigEnabled: false,
  validatorUrl: null,
});
`;
