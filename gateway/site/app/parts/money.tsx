/** Dollars in cents; what it is to the micro-dollar is under the pointer. */
import { dollars, exactDollars } from './format.js';

export function Money({ micros, as = dollars }: { micros: number; as?: typeof dollars }) {
  return <span title={exactDollars(micros)}>{as(micros)}</span>;
}
