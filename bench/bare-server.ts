/**
 * What an exchange is held against: a uWebSockets.js server that reads a body, parses its JSON and answers at once with a text that never
 * changes (its first argument). No checks, no session, no engine, no journal. Sends its port to its parent, and ends with it.
 */
import * as uWS from 'uWebSockets.js';

const answer = process.argv[2];
if (answer === undefined || process.send === undefined) throw new Error('started by the benchmark only');

const app = uWS.App();
app.any('/*', (response) => {
  let kept: Uint8Array | null = null;
  response.onAborted(() => {});
  response.onData((data, isLast) => {
    // The memory is uWebSockets.js's again after this callback, so what is kept is a copy.
    const bytes = kept === null ? Buffer.from(data) : Buffer.concat([kept, Buffer.from(data)]);
    if (!isLast) {
      kept = Buffer.from(bytes);
      return;
    }
    const body: unknown = JSON.parse(bytes.toString());
    response.cork(() => {
      if (typeof body !== 'object') response.writeStatus('400 Bad Request');
      response.writeHeader('Content-Type', 'application/json');
      response.writeHeader('Cache-Control', 'no-store');
      response.end(answer);
    });
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen');
  process.send!({ port: uWS.us_socket_local_port(socket as never) });
});
process.on('disconnect', () => process.exit(0));
