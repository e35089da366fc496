/** The HTTP benchmark's baseline: reads a body, parses its JSON, answers with a fixed text. */
import * as uWS from 'uWebSockets.js';

function answer(response: uWS.HttpResponse, text: string): void {
  response.cork(() => {
    response.writeHeader('Content-Type', 'application/json');
    response.writeHeader('Cache-Control', 'no-store');
    response.end(text);
  });
}

function readBody(response: uWS.HttpResponse, done: (body: unknown) => void): void {
  let kept: Buffer | null = null;
  response.onAborted(() => {});
  response.onData((data, isLast) => {
    // uWebSockets.js reuses the memory after this callback.
    const bytes = kept === null ? Buffer.from(data) : Buffer.concat([kept, Buffer.from(data)]);
    if (isLast) done(JSON.parse(bytes.toString()));
    else kept = Buffer.from(bytes);
  });
}

process.once('message', (answers: Record<string, string>) => {
  const app = uWS.App();
  for (const [path, text] of Object.entries(answers)) {
    app.get(path, (response) => answer(response, text));
    app.post(path, (response) => readBody(response, () => answer(response, text)));
  }
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen');
    process.send!({ port: uWS.us_socket_local_port(socket as never) });
  });
});
process.on('disconnect', () => process.exit(0));
