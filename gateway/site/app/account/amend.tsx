/**
 * Changes a resting order's size, price, or both. As in the API, the size includes filled shares,
 * so a fill that arrives meanwhile cannot enlarge the order.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { fromLots, fromTicks, toLots, toMicros } from '../../../client/amounts.js';
import { amend, order as readOrder } from '../../../client/index.js';
import type { RestingOrder } from '../../../client/stream/account.js';
import type { AmendReceipt } from '../../../client/types.js';
import { amended, closeDialog } from '../model/dialog.js';
import { api } from '../model/exchange.js';
import { notice } from '../model/notice.js';
import { user } from '../model/session.js';
import { readLots, readTicks, WRONG_PRICE, WRONG_SHARES } from '../parts/amount.js';
import { Dialog } from '../parts/dialog.js';
import { TextField } from '../parts/fields.js';
import { Form } from '../parts/form.js';
import { averageCents, cents, shares, typedCents } from '../parts/format.js';
import { slotName } from '../parts/market-name.js';
import { refusalOf } from '../ticket/refusal.js';

type Problems = Partial<Record<'size' | 'price' | 'order', string>>;

/** The order as the exchange reported it; `lots` includes filled lots. */
interface Found {
  lots: number;
  filledLots: number;
}

export function AmendDialog() {
  const of = amended.value;
  return of === null ? null : <AmendForm key={of.orderId} of={of} />;
}

function AmendForm({ of }: { of: RestingOrder }) {
  const size = useSignal('');
  const price = useSignal(typedCents(of.priceTicks));
  const found = useSignal<Found | null>(null);
  const problems = useSignal<Problems>({});
  const refused = (error: unknown) => {
    const { field, sentence } = refusalOf(error);
    const place = field === 'size' ? 'size' : field === 'order' ? 'order' : 'price';
    problems.value = { [place]: sentence };
  };
  useEffect(() => {
    const read = async () => {
      const { filledShares, restingShares } = await readOrder(
        api,
        user.peek()?.userId ?? '',
        of.orderId,
      );
      const filledLots = toLots(filledShares ?? 0);
      found.value = { lots: filledLots + toLots(restingShares), filledLots };
      size.value = fromLots(found.value.lots);
    };
    void read().catch(refused);
  }, []);
  const send = async () => {
    const known = found.peek();
    if (known === null) return;
    const lots = readLots(size.peek());
    const ticks = readTicks(price.peek());
    problems.value = {
      ...(lots === null ? { size: WRONG_SHARES } : {}),
      ...(ticks === null ? { price: WRONG_PRICE } : {}),
    };
    if (lots === null || ticks === null) return;
    const terms = {
      ...(lots === known.lots ? {} : { shares: fromLots(lots) }),
      ...(ticks === of.priceTicks ? {} : { price: fromTicks(ticks) }),
    };
    if (Object.keys(terms).length > 0)
      notice.value = outcomeOf(await amend(api, of.marketId, of.orderId, terms), ticks);
    closeDialog();
  };
  const filledLots = found.value?.filledLots ?? 0;
  const { size: wrongSize, price: wrongPrice, order: wrong } = problems.value;
  return (
    <Dialog title="Amend the order">
      <Form
        button="Amend"
        disabled={found.value === null}
        send={send}
        refused={refused}
        problem={wrong}
      >
        <p class="soft">
          {of.side === 'BUY' ? 'Buy' : 'Sell'} {of.outcome}, {slotName(of.marketId)}
          {of.clientOrderId !== null && <>, your id {of.clientOrderId}</>}
        </p>
        <TextField
          label="Shares, including those filled"
          name="amend-size"
          autocomplete="off"
          inputMode="decimal"
          value={size}
          problem={wrongSize}
          hint={`${shares(filledLots)} filled. Fewer shares keep the order's place in the queue.`}
        />
        <TextField
          label="Price in cents"
          name="amend-price"
          autocomplete="off"
          inputMode="decimal"
          value={price}
          problem={wrongPrice}
          hint="More shares or another price put the order at the end of its queue, and it may trade at once."
        />
      </Form>
    </Dialog>
  );
}

function outcomeOf(receipt: AmendReceipt, ticks: number): string {
  const resting = toLots(receipt.restingShares);
  const traded = toLots(receipt.shares);
  const parts = [
    traded > 0 && receipt.averagePrice !== null
      ? `${shares(traded)} traded at ${averageCents(toMicros(receipt.averagePrice))}`
      : '',
    resting > 0 ? `${shares(resting)} open at ${cents(ticks)}` : 'nothing is left open',
    receipt.keptPriority ? 'it kept its place in the queue' : '',
  ];
  return `Amended: ${parts.filter((part) => part !== '').join(', ')}.`;
}
