/**
 * Serves day files at /api/history/:asset/:date.jsonl.gz, whole or as a byte range (RFC 9110, 14).
 * A file is read in pieces, each after the client has taken the previous one, so memory is bounded.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type FileHandle, open } from 'node:fs/promises';
import { dayFilePath } from '../../../persistence/history/day-files.js';
import { writeCrossOrigin } from '../../access/cross-origin.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import { Bill } from '../../access/fair-use/fair-use.js';
import { Tally } from '../../access/fair-use/tally.js';
import { type ErrorAnswer, errorAnswer, rateLimited } from '../../commands/errors.js';
import { writeAndClose } from '../../http/answers/closing-answer.js';
import { namesTag } from '../../http/answers/entity-tags.js';
import { onRead } from '../../http/answers/static-file.js';
import { writeError } from '../../http/answers/write-error.js';
import type { Serving } from '../../http/gateway.js';
import type { Request } from '../../http/request.js';
import type { Router } from '../../http/router.js';

const PATH = '/api/history/:asset/:file';
const PIECE_BYTES = 64 * 1024;
/** A range costs one read per piece, up to the smallest burst that can be configured. */
const READS_MAX = 200;
const SENT_MAX = 64;
const SENT_TO_ADDRESS_MAX = 8;

const NO_FILE = errorAnswer(
  'route_not_found',
  {},
  'There is no file of this day. GET /api/history lists those there are.',
);

interface Asked {
  path: string | null;
  isHead: boolean;
  range: string;
  ifRange: string;
  ifNoneMatch: string;
  origin: Request['origin'];
  address: AddressKey;
}

export interface Range {
  start: number;
  length: number;
}

export function serveDayFiles(router: Router, server: Serving): void {
  const files = new DayFileServer(server);
  const serve = (response: HttpResponse, request: Request, raw: HttpRequest) =>
    files.serve(response, {
      path: dayFilePath(server.config.dataFolder, raw.getParameter(0)!, raw.getParameter(1)!),
      isHead: request.method === 'head',
      range: raw.getHeader('range'),
      ifRange: raw.getHeader('if-range'),
      ifNoneMatch: request.ifNoneMatch,
      origin: request.origin,
      address: request.addressFrom(response),
    });
  onRead(router, PATH, serve, server);
}

class DayFileServer {
  private readonly sentTo = new Tally<AddressKey>();
  private sent = 0;

  constructor(private readonly server: Serving) {}

  serve(response: HttpResponse, asked: Asked): void {
    const { address } = asked;
    if (this.sent >= SENT_MAX || this.sentTo.of(address) >= SENT_TO_ADDRESS_MAX) {
      this.refuse(response, asked, errorAnswer('unavailable', { executed: false }), '1');
      return;
    }
    this.sent++;
    this.sentTo.add(address);
    const sending = new Sending(response, () => {
      this.sent--;
      this.sentTo.remove(address);
    });
    void this.answer(sending, asked);
  }

  private async answer(sending: Sending, asked: Asked): Promise<void> {
    const { response } = sending;
    try {
      const size = asked.path === null ? null : await sending.open(asked.path);
      if (sending.isOver) return;
      if (size === null) this.refuse(response, asked, NO_FILE);
      else if (this.writeHead(sending, asked, size)) return;
    } catch (error) {
      this.server.log.warn({ err: error }, 'a day file could not be read');
      if (!sending.isOver)
        this.refuse(response, asked, errorAnswer('unavailable', { executed: false }));
    }
    sending.end();
  }

  /** Returns whether a body follows. */
  private writeHead(sending: Sending, asked: Asked, size: number): boolean {
    const { isHead, ifRange, range: header } = asked;
    const { response, etag } = sending;
    const isKnown = namesTag(asked.ifNoneMatch, etag);
    const isWhole = isKnown || header === '' || (ifRange !== '' && ifRange !== etag);
    const range = isWhole ? null : rangeOf(header, size);
    const { start, length } = range ?? { start: 0, length: size };
    const hasBody = !isHead && !isKnown && length > 0;
    const reads = hasBody ? Math.min(Math.ceil(length / PIECE_BYTES), READS_MAX) : 1;
    const paid = this.server.fairUse.charge('reads', new Bill({ address: asked.address }), reads);
    if (paid !== null && !paid.granted) {
      const { error, retryAfter } = rateLimited(paid.waitMs);
      this.refuse(response, asked, error, retryAfter);
      return false;
    }
    response.cork(() => {
      if (isKnown) response.writeStatus('304 Not Modified');
      else if (length === 0) response.writeStatus('416 Range Not Satisfiable');
      else if (range !== null) response.writeStatus('206 Partial Content');
      if (hasBody || isHead) response.writeHeader('Content-Type', 'application/gzip');
      if (length === 0) response.writeHeader('Content-Range', `bytes */${size}`);
      else if (range !== null)
        response.writeHeader('Content-Range', `bytes ${start}-${start + length - 1}/${size}`);
      response.writeHeader('ETag', etag);
      response.writeHeader('Accept-Ranges', 'bytes');
      response.writeHeader('Cache-Control', 'public, no-cache');
      response.writeHeader('X-Content-Type-Options', 'nosniff');
      writeCrossOrigin(response, asked.origin, this.server.config.siteOrigins);
      if (hasBody) response.tryEnd('', length);
      else writeAndClose(response, '', isHead ? length : null);
    });
    if (hasBody) sending.send(start, length);
    return hasBody;
  }

  private refuse(
    response: HttpResponse,
    { isHead }: Asked,
    error: ErrorAnswer,
    retryAfter?: string,
  ): void {
    const { unsent } = this.server;
    const header = retryAfter === undefined ? undefined : (['Retry-After', retryAfter] as const);
    response.cork(() => writeError(response, error, { unsent, isHead, ...(header && { header }) }));
  }
}

/** `onEnd` is called once, when the file is closed. */
class Sending {
  isOver = false;
  etag = '';
  private file: FileHandle | null = null;

  constructor(
    readonly response: HttpResponse,
    private readonly onEnd: () => void,
  ) {
    response.onAborted(() => this.end());
  }

  /** Resolves to the file's size; `null` if it does not exist. */
  async open(path: string): Promise<number | null> {
    try {
      this.file = await open(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    const { size, mtimeMs } = await this.file.stat();
    this.etag = `"${Math.floor(mtimeMs).toString(36)}-${size.toString(36)}"`;
    if (this.isOver) await this.file.close();
    return size;
  }

  send(start: number, length: number): void {
    const { response } = this;
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, length));
    const next = async () => {
      const offset = response.getWriteOffset();
      const wanted = Math.min(piece.length, length - offset);
      const { bytesRead } = await this.file!.read(piece, 0, wanted, start + offset);
      isReading = false;
      if (this.isOver) return;
      if (bytesRead === 0) throw new Error('a day file has become shorter');
      response.cork(() => {
        const [isTaken, isDone] = response.tryEnd(piece.subarray(0, bytesRead), length);
        if (isDone) this.end();
        else if (isTaken) go();
      });
    };
    let isReading = false;
    const go = () => {
      if (isReading) return;
      isReading = true;
      next().catch(() => {
        if (!this.isOver) response.close();
      });
    };
    response.onWritable(() => {
      go();
      return true;
    });
    go();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    void this.file?.close().catch(() => {});
    this.onEnd();
  }
}

/** Length 0 if no byte is in the range; `null` if not a single byte range, hence ignored. */
export function rangeOf(header: string, size: number): Range | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === '') {
    if (last === '') return null;
    const length = Math.min(Number(last), size);
    return { start: size - length, length };
  }
  const [start, end] = [Number(first), last === '' ? size - 1 : Number(last)];
  if (last !== '' && end < start) return null;
  return start >= size
    ? { start, length: 0 }
    : { start, length: Math.min(end, size - 1) - start + 1 };
}
