/**
 * Requests as bytes, and whole HTTP/1.1 answers recognised in what comes from a socket, one at a time. Of an answer only the head is looked
 * at, and of its body the length, so that a client spends next to nothing on long answers.
 */
const HEADER_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;

export class AnswerReader {
  /** The beginning of a head that has not come in whole. */
  private headPiece: Buffer | null = null;
  /** Of the answer whose head has come in; 0: none has. */
  private status = 0;
  /** Of its body, still to come. */
  private missingBytes = 0;

  /**
   * The status, when these bytes complete an answer; 0: there is more to come. The bytes may be overwritten afterwards.
   * @throws Error when this is no answer with a Content-Length, or more than one.
   */
  read(bytes: Buffer): number {
    if (this.status === 0) this.readHead(bytes);
    else this.missingBytes -= bytes.length;
    if (this.status === 0 || this.missingBytes > 0) return 0;
    if (this.missingBytes < 0) throw new Error('more came than one answer');
    const { status } = this;
    this.status = 0;
    return status;
  }

  private readHead(bytes: Buffer): void {
    const whole = this.headPiece === null ? bytes : Buffer.concat([this.headPiece, bytes]);
    const headEnd = whole.indexOf(HEADER_END);
    if (headEnd === -1) {
      this.headPiece = Buffer.from(whole);
      return;
    }
    this.headPiece = null;
    const head = whole.toString('latin1', 0, headEnd + 2);
    const status = STATUS_LINE.exec(head);
    const contentLength = CONTENT_LENGTH.exec(head);
    if (status === null || contentLength === null)
      throw new Error(`an answer that is not understood: ${head}`);
    this.status = Number(status[1]);
    this.missingBytes = headEnd + HEADER_END.length + Number(contentLength[1]) - whole.length;
  }
}

/** A request as bytes. */
export function requestBytes(options: {
  method: 'GET' | 'POST';
  path: string;
  host: string;
  headers?: Record<string, string>;
  body?: unknown;
}): Buffer {
  const { method, path, host, headers = {}, body } = options;
  const content = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(content)}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`);
}
