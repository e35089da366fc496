/** The forms of text fields in commands. */
import { MAX_CLIENT_ORDER_ID_LENGTH } from './limits.js';

const ASSET_SYMBOL = /^[A-Z0-9]{2,10}$/;
const NAME = /^[A-Za-z0-9_-]{3,20}$/;
const PRICE_SOURCE = /^[a-z0-9][a-z0-9.-]{0,31}$/;
const SHA_256 = /^[0-9a-f]{64}$/;
/** Characters of a clientOrderId: none needs an escape in JSON, URLs or CSV. */
const CLIENT_ORDER_ID_CHARACTERS =
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-:.';
/** By byte; 1: allowed in a clientOrderId. */
export const CLIENT_ORDER_ID_BYTES = new Uint8Array(256);
for (let i = 0; i < CLIENT_ORDER_ID_CHARACTERS.length; i++)
  CLIENT_ORDER_ID_BYTES[CLIENT_ORDER_ID_CHARACTERS.charCodeAt(i)] = 1;

export const isAssetSymbol = (text: string): boolean => ASSET_SYMBOL.test(text);
export const isUsername = (text: string): boolean => NAME.test(text);
export const isReferralCode = (text: string): boolean => NAME.test(text);
export const isPriceSource = (text: string): boolean => PRICE_SOURCE.test(text);
export const isSha256 = (text: string): boolean => SHA_256.test(text);

export function isText(text: string, minLength: number, maxLength: number): boolean {
  return typeof text === 'string' && text.length >= minLength && text.length <= maxLength;
}

/** Checks a clientOrderId stored as one byte per character. */
export function isClientOrderId(bytes: Uint8Array, from: number, length: number): boolean {
  if (length < 1 || length > MAX_CLIENT_ORDER_ID_LENGTH) return false;
  for (let i = from; i < from + length; i++) {
    if (CLIENT_ORDER_ID_BYTES[bytes[i]!] !== 1) return false;
  }
  return true;
}
