/** The resting orders that expire before their market ends, as rows of order-details.ts. */
import { DeadlineHeap } from '../../storage/deadline-heap.js';
import type { UndoLog } from '../../storage/undo.js';
import type { OrderDetails } from './order-details.js';

export class Expiries extends DeadlineHeap {
  constructor(undo: UndoLog, details: OrderDetails) {
    super(
      {
        id: (row) => details.orderId(row),
        atMs: (row) => details.expiresAtMs(row),
        place: (row) => details.heapPlace(row),
        setPlace(row, place) {
          details.touch(row);
          details.setHeapPlace(row, place);
        },
      },
      undo,
    );
  }
}
