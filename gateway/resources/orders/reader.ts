/**
 * Reads operations straight from bytes into commands; `null` if the schemas must check them.
 *
 * Invariant: a command equals the schemas' command for the same bytes. A test compares them.
 */
import type { BatchOperation } from '../../../engine/interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../../../engine/interface/limits.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { FAILED, JsonScanner, namesOf } from '../../json/scanner.js';
import type { Field, Value } from './fields.js';
import * as field from './fields.js';
import {
  type ClientOperation,
  Given,
  OPERATIONS,
  type OperationName,
  type Place,
} from './operations.js';

const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
const OP_NAMES = namesOf(OPERATION_NAMES);
const KINDS = Object.values(OPERATIONS);

/** A name means the same field in every operation. */
const FIELDS: Record<string, Pick<Field, 'scan'>> = {
  op: { scan: (scanner) => scanner.word(OP_NAMES) },
  userId: field.userId,
  marketId: field.marketId,
  ...Object.assign({}, ...KINDS.map(({ fields }) => fields)),
};
const FIELD_NAMES = Object.keys(FIELDS);
const NAMES = namesOf(FIELD_NAMES);
const SCANS = FIELD_NAMES.map((name) => FIELDS[name]!.scan);

const bitsOf = (names: readonly string[]) =>
  names.reduce((bits, name) => bits | (1 << FIELD_NAMES.indexOf(name)), 0);
const OWN_BIT = bitsOf(['userId']);
const MARKET_BIT = bitsOf(['marketId']);
const ORDER_BIT = bitsOf(['orderId']);
const NAME_BIT = bitsOf(['clientOrderId']);
const PLACE_BITS = bitsOf(['op', 'marketId']);

/** Bit sets of fields. */
interface Form extends ClientOperation {
  allowed: number;
  needed: number;
}
const FORMS = KINDS.map((operation): Form => {
  const allowed = bitsOf(Object.keys(operation.fields)) | OWN_BIT;
  return { ...operation, allowed, needed: bitsOf(operation.required) };
});
const CANCEL_ALL = OPERATION_NAMES.indexOf('cancelAll');

export class OperationReader {
  private given = new Given();
  private assets!: Assets;
  private isRefused = false;
  private readonly refuse = () => {
    this.isRefused = true;
  };
  private readonly readField = (index: number) => {
    const values = this.given as unknown as Record<string, Value>;
    values[FIELD_NAMES[index]!] = SCANS[index]!(this.scanner, this.assets);
  };

  /** The caller reads the text around the operations with the same scanner. */
  constructor(private readonly scanner = new JsonScanner()) {}

  /** `orderId` is the order in the path, if any. An empty body counts as `{}`. */
  body(
    name: OperationName,
    bytes: Uint8Array,
    assets: Assets,
    place: Place,
    orderId?: number,
  ): BatchOperation | null {
    const { scanner } = this;
    scanner.begin(bytes);
    const seen = bytes.length === 0 ? this.readNothing() : this.read(assets, place.userId);
    if (!scanner.finish() || seen === FAILED || (seen & ORDER_BIT) !== 0) return null;
    // The path already names the order.
    if (orderId !== undefined && (seen & NAME_BIT) !== 0) return null;
    this.given.marketId = place.marketId;
    this.given.orderId = orderId;
    const form = FORMS[OPERATION_NAMES.indexOf(name)]!;
    return this.command(form, orderId === undefined ? seen : seen | ORDER_BIT, place);
  }

  next(assets: Assets, userId: number): BatchOperation | null {
    const seen = this.read(assets, userId);
    const { op = FAILED, marketId = 0 } = this.given;
    if (seen === FAILED || op === FAILED) return null;
    if ((seen & MARKET_BIT) === 0 && op !== CANCEL_ALL) return null;
    const place = { userId, idempotencyKey: null, marketId };
    return this.command(FORMS[op]!, seen & ~PLACE_BITS, place);
  }

  list(assets: Assets, userId: number): BatchOperation[] | null {
    const operations: BatchOperation[] = [];
    while (this.scanner.element(operations.length === 0)) {
      const operation = this.next(assets, userId);
      if (operation === null || operations.length === MAX_BATCH_OPERATIONS) return null;
      operations.push(operation);
    }
    return operations;
  }

  private readNothing(): number {
    this.given = new Given();
    return 0;
  }

  /** The fields' bits, or FAILED if not handled. */
  private read(assets: Assets, userId: number): number {
    this.given = new Given();
    this.assets = assets;
    const seen = this.scanner.object(NAMES, this.readField);
    return (this.given.userId ?? userId) === userId ? seen : FAILED;
  }

  private command(
    { allowed, needed, check, command }: Form,
    seen: number,
    place: Place,
  ): BatchOperation | null {
    if ((seen & ~allowed) !== 0 || (seen & needed) !== needed) return null;
    this.isRefused = false;
    check?.(this.given, this.refuse);
    return this.isRefused ? null : command(place, this.given);
  }
}
