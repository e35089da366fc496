/**
 * Changes a resting order's size, price, or both. As in the API, the size includes filled shares,
 * so a simultaneous fill cannot enlarge the order.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  type AmendReceipt,
  amend,
  fromLots,
  fromTicks,
  type RestingOrder,
  order as readOrder,
  toLots,
  toMicros,
} from '../../../client/index.js';
import { amended, closeDialog } from '../model/dialog.js';
import { api, sentenceOf } from '../model/exchange.js';
import { notice } from '../model/notice.js';
import { user } from '../model/session.js';
import {
  ambiguity,
  fieldText,
  readLots,
  readTicks,
  WRONG_PRICE,
  WRONG_SHARES,
} from '../parts/amount.js';
import { Dialog, Form, TextField } from '../parts/form.js';
import { averageCents, cents, shares, slotName, typedCents } from '../parts/format.js';
import { refusalOf } from '../ticket/refusal.js';
import { mixed, t } from '../words/words.js';

/** Where each refusal is shown. All others appear at the price. */
const PLACES: Readonly<Record<string, string>> = { size: 'amend-size', order: 'form' };

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
  const unread = useSignal('');
  useEffect(() => {
    const read = async () => {
      const { filledShares, restingShares } = await readOrder(
        api,
        user.peek()?.userId ?? '',
        of.orderId,
      );
      const filledLots = toLots(filledShares ?? 0);
      found.value = { lots: filledLots + toLots(restingShares), filledLots };
      size.value = fieldText(fromLots(found.value.lots));
    };
    void read().catch((error) => {
      unread.value = sentenceOf(error);
    });
  }, []);
  const send = async () => {
    const known = found.peek();
    if (known === null) return undefined;
    const lots = readLots(size.peek());
    const ticks = readTicks(price.peek());
    if (lots === null || ticks === null)
      return {
        'amend-size': lots === null ? ambiguity(size.peek()) || WRONG_SHARES : undefined,
        'amend-price': ticks === null ? WRONG_PRICE : undefined,
      };
    const terms = {
      ...(lots === known.lots ? {} : { shares: fromLots(lots) }),
      ...(ticks === of.priceTicks ? {} : { price: fromTicks(ticks) }),
    };
    try {
      if (Object.keys(terms).length > 0)
        notice.value = outcomeOf(await amend(api, of.marketId, of.orderId, terms), ticks);
    } catch (error) {
      const { field, sentence } = refusalOf(error);
      return { [PLACES[field] ?? 'amend-price']: sentence };
    }
    closeDialog();
    return undefined;
  };
  const filledLots = found.value?.filledLots ?? 0;
  return (
    <Dialog title={t('Amend the order')}>
      <Form button={t('Amend')} disabled={found.value === null} problem={unread.value} send={send}>
        <p class="soft">
          {of.side === 'BUY' ? t('Buy') : t('Sell')} {of.outcome}, {slotName(of.marketId)}
          {of.clientOrderId !== null && <>{mixed(', your id {0}', of.clientOrderId)}</>}
        </p>
        <TextField
          label={t('Shares, including those filled')}
          name="amend-size"
          inputMode="decimal"
          value={size}
          hint={t(
            '{0} filled. If you only reduce the shares, the order keeps its place in the queue.',
            shares(filledLots),
          )}
        />
        <TextField
          label={t('Price in cents')}
          name="amend-price"
          inputMode="decimal"
          value={price}
          hint={t(
            'More shares or another price put the order at the end of its queue, and it may trade immediately.',
          )}
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
      ? t('{0} traded at {1}', shares(traded), averageCents(toMicros(receipt.averagePrice)))
      : '',
    resting > 0 ? t('{0} open at {1}', shares(resting), cents(ticks)) : t('nothing is left open'),
    receipt.keptPriority ? t('it kept its place in the queue') : '',
  ];
  return t('Amended: {0}.', parts.filter((part) => part !== '').join(', '));
}
