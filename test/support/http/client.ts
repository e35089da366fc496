/** A client that sends one request at a time over one connection, outside of a load. */
import { HttpConnection } from './connection.js';
import { type HttpAnswer, type RequestFields, requestBytes } from './messages.js';

export const PASSWORD = 'correct horse battery';

export interface Answer {
  status: number;
  /** The status line and headers. */
  head: string;
  text: string;
  /** The parsed body; undefined if the text is not a JSON object. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the answer's shape
  json: any;
}

/** The connection ended before the answer was complete. */
export class ConnectionLost extends Error {}

export class Client {
  private readonly connection: HttpConnection;

  /** Connects when the first request is sent. */
  constructor({ port, isSecure = false }: { port: number; isSecure?: boolean }) {
    this.connection = new HttpConnection(port, { isSecure });
  }

  /** @throws ConnectionLost */
  async ask(request: RequestFields): Promise<Answer> {
    const answer = await new Promise<HttpAnswer | null>((resolve) =>
      this.connection.send(requestBytes(request), resolve),
    );
    if (answer === null)
      throw new ConnectionLost(`no answer to ${request.method ?? 'GET'} ${request.path}`);
    const text = answer.body.toString('utf8');
    const json = text.startsWith('{') ? JSON.parse(text) : undefined;
    return { status: answer.status, head: answer.head, text, json };
  }

  /** @throws Error unless the status is below 300. */
  async mustAsk(request: RequestFields): Promise<Answer> {
    const answer = await this.ask(request);
    if (answer.status < 300) return answer;
    throw new Error(
      `${request.method ?? 'GET'} ${request.path} was answered ${answer.status}: ${answer.text}`,
    );
  }

  /** Registers a user. `fields`: additional fields, such as a referral code. */
  async register(username: string, fields: object = {}): Promise<Answer['json']> {
    const body = { username, password: PASSWORD, ...fields };
    return (await this.mustAsk({ method: 'POST', path: '/auth/register', body })).json;
  }

  close(): void {
    this.connection.hangUp();
  }
}
