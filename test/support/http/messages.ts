/** HTTP/1.1 messages of a client: writes requests and recognises answers in a socket's bytes. */

/** The address of every server under load. */
export const HOST = '127.0.0.1';

export interface RequestFields {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below /api. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text unchanged. */
  body?: object | string | undefined;
}

export function requestText({ method = 'GET', path, headers = {}, body }: RequestFields): string {
  const content = typeof body === 'object' ? JSON.stringify(body) : body;
  let head = `${method} /api${path} HTTP/1.1\r\nHost: ${HOST}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  if (content === undefined) return `${head}\r\n`;
  head += `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n`;
  return `${head}\r\n${content}`;
}

export const requestBytes = (fields: RequestFields): Buffer => Buffer.from(requestText(fields));

export interface HttpAnswer {
  status: number;
  /** The status line and headers. */
  head: string;
  body: Buffer;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;
const CONNECTION_CLOSE = /\r\nconnection: *close/i;

/** Reads one answer at a time. */
export class AnswerReader {
  /** The first part of an incomplete head. */
  private headPiece: Buffer | null = null;
  /** The status of the answer whose body is being read; 0 if there is none. */
  private status = 0;
  private head = '';
  private bodyPieces: Buffer[] = [];
  /** The bytes that are missing. Infinity if the body ends with the connection. */
  private missingBytes = 0;

  /**
   * If bodies are not kept, their bytes are only counted, and each answer needs a Content-Length.
   */
  constructor(private readonly keepsBodies: boolean) {}

  /**
   * Returns the answer that these bytes complete, or null. They may be overwritten afterwards.
   * @throws Error when the bytes are not an HTTP answer, or more than one.
   */
  read(bytes: Buffer): HttpAnswer | null {
    const body = this.status === 0 ? this.readHead(bytes) : bytes;
    if (body === null) return null;
    this.missingBytes -= body.length;
    if (this.missingBytes < 0) throw new Error('more came than one answer');
    if (this.keepsBodies) this.bodyPieces.push(Buffer.from(body));
    return this.missingBytes === 0 ? this.take() : null;
  }

  /** Call when the connection has ended. Returns the answer that ends with it, or null. */
  end(): HttpAnswer | null {
    const answer = this.missingBytes === Number.POSITIVE_INFINITY ? this.take() : null;
    this.headPiece = null;
    this.status = 0;
    this.bodyPieces = [];
    return answer;
  }

  /** Returns the first bytes of the body, or null if the head is incomplete. */
  private readHead(bytes: Buffer): Buffer | null {
    const whole = this.headPiece === null ? bytes : Buffer.concat([this.headPiece, bytes]);
    const headEnd = whole.indexOf(HEADER_END);
    this.headPiece = headEnd === -1 ? Buffer.from(whole) : null;
    if (headEnd === -1) return null;
    this.head = whole.toString('latin1', 0, headEnd);
    this.status = Number(STATUS_LINE.exec(this.head)?.[1] ?? 0);
    const bodyLength = this.bodyLength();
    if (this.status === 0 || bodyLength === null)
      throw new Error(`an answer is not understood: ${this.head}`);
    this.missingBytes = bodyLength;
    return whole.subarray(headEnd + HEADER_END.length);
  }

  private bodyLength(): number | null {
    const length = CONTENT_LENGTH.exec(this.head);
    if (length !== null) return Number(length[1]);
    if (!this.keepsBodies) return null;
    // uWebSockets.js refuses invalid HTTP with an answer that ends with the connection.
    return CONNECTION_CLOSE.test(this.head) ? Number.POSITIVE_INFINITY : 0;
  }

  private take(): HttpAnswer {
    const { status, head, bodyPieces } = this;
    this.status = 0;
    this.missingBytes = 0;
    this.bodyPieces = [];
    const body = bodyPieces.length === 1 ? bodyPieces[0]! : Buffer.concat(bodyPieces);
    return { status, head, body };
  }
}
