/**
 * The ticket: what to trade, how much and at which price; the order's effect; and the outcome.
 * Every refusal is shown at the field to change.
 */
import { fromLots, fromMicros } from '../../../client/index.js';
import { ShortHead } from '../market/head.js';
import { balance, held } from '../model/account.js';
import { best } from '../model/book.js';
import { elapsedMs } from '../model/clock.js';
import { openDialog } from '../model/dialog.js';
import { isLost } from '../model/exchange.js';
import { market } from '../model/markets.js';
import { user } from '../model/session.js';
import {
  asked,
  choose,
  hasChosen,
  isGuided,
  isInShares,
  isLimit,
  isOpen,
  mostMicros,
  oneClick,
  outcome,
  postOnly,
  price,
  priceTicks,
  type Side,
  side,
  size,
  sizeLots,
  sizeMicros,
  type Terms,
  TOLERANCES,
  terms,
  tolerance,
  unit,
  written,
} from '../model/ticket.js';
import { Check, Choice } from '../parts/action.js';
import { fieldText } from '../parts/amount.js';
import { dollars, shares, slotName, typedCents } from '../parts/format.js';
import { Later } from '../parts/later.js';
import { Panel } from '../parts/panel.js';
import { t } from '../words/words.js';
import { AnswerText, closeTicket } from './answers.js';
import { ask, summary } from './confirm.js';
import { Forecast, ForecastDetails } from './forecast.js';
import { OwnPosition } from './own-position.js';
import { ReceiptView } from './receipt.js';
import { checkTyped, type Field, firstProblem, refusal } from './refusal.js';
import { clear, isRolling, isSending, receipt, send } from './send.js';

const loadViews = () => import('../views.js');

const SIDES = [
  { value: 'BUY', label: t('Buy') },
  { value: 'SELL', label: t('Sell') },
] as const;
const KINDS = [
  { value: 'market', label: t('Market') },
  { value: 'limit', label: t('Limit') },
] as const;
const UNITS = [
  { value: 'dollars', label: t('Dollars') },
  { value: 'shares', label: t('Shares') },
] as const;
const TERMS: readonly { value: Terms; label: string }[] = [
  { value: 'GTC', label: t('Until the market ends') },
  { value: 'IOC', label: t('Fill now, cancel the rest') },
  { value: 'FOK', label: t('Fill completely or not at all') },
];

/** Focuses the refused field, so that its sentence is visible and typing corrects it. */
function focusRefused(): void {
  const field = refusal.peek()?.field;
  if (field === 'size' || field === 'price') document.getElementById(field)?.focus();
}

/** A click this soon after another belongs to a double click. */
const DOUBLE_CLICK_MS = 400;
let done = { atMs: Number.NEGATIVE_INFINITY, written: written.peek(), outcome: outcome.peek() };

function submit(event: Event): void {
  event.preventDefault();
  if (user.peek() === null) {
    openDialog('register');
    return;
  }
  refusal.value = firstProblem();
  focusRefused();
  if (refusal.value !== null) return;
  done = { atMs: elapsedMs(), written: written.peek(), outcome: outcome.peek() };
  if (oneClick.peek() === 'on' || asked.peek() !== null) void send().then(focusRefused);
  else {
    receipt.value = null;
    ask();
  }
}

/** Ignores only pointer clicks, because key presses repeat only while a key is held down. */
function ignoreDoubleClick(event: MouseEvent): void {
  const isByPointer = event.detail > 0;
  const isSame = [null, done.written].includes(written.peek()) && done.outcome === outcome.peek();
  if (isByPointer && isSame && elapsedMs() - done.atMs < DOUBLE_CLICK_MS) event.preventDefault();
}

function ignoreHeldKey(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.repeat) event.preventDefault();
}

export function Ticket() {
  return (
    <Panel
      title={t('Trade')}
      class={`ticket-panel ${isOpen.value ? 'open' : ''}`}
      extra={
        <>
          <Choice
            label={t('Side')}
            options={SIDES}
            chosen={side.value}
            onChoose={(chosen: Side) => {
              clear();
              choose({ side: chosen });
            }}
          />
          <button
            type="button"
            class="plain sheet-close"
            aria-label={t('Close')}
            onClick={closeTicket}
          >
            ×
          </button>
        </>
      }
    >
      {isOpen.value && <ShortHead />}
      <OwnPosition />
      {isGuided.value === 'yes' && <Later load={loadViews} name="guide" />}
      <form class="ticket" id="ticket" onSubmit={submit} onKeyDown={ignoreHeldKey} noValidate>
        <Outcomes />
        <Choice
          label={t('Type')}
          class="kinds"
          options={KINDS}
          chosen={isLimit.value ? 'limit' : 'market'}
          onChoose={(kind) => {
            clear();
            isLimit.value = kind === 'limit';
            if (price.peek() === '') prefillPrice();
          }}
        />
        <SizeField />
        {isLimit.value ? <LimitFields /> : <Tolerance />}
        <Forecast />
        <div class="send-line">
          <Problem of="order" />
          <SendButton />
        </div>
        <ReceiptView />
        <ForecastDetails />
        <Check
          label={t('Skip confirmation')}
          checked={oneClick.value === 'on'}
          onChange={({ checked }) => (oneClick.value = checked ? 'on' : 'off')}
        />
      </form>
    </Panel>
  );
}

/** Prefills the best price: what a buyer pays or a seller gets. */
function prefillPrice(): void {
  const { bid, ask } = best[outcome.peek()];
  const ticks = (side.peek() === 'BUY' ? ask : bid).peek();
  if (ticks !== null) price.value = typedCents(ticks);
}

function Outcomes() {
  const buys = side.value === 'BUY';
  return (
    <fieldset class="outcomes">
      <legend class="unseen">{t('Outcome')}</legend>
      {(['UP', 'DOWN'] as const).map((each) => {
        return (
          <button
            type="button"
            key={each}
            class={`outcome-button ${each.toLowerCase()}`}
            aria-pressed={outcome.value === each}
            onClick={() => {
              clear();
              hasChosen.value = true;
              outcome.value = each;
              prefillPrice();
            }}
          >
            <AnswerText of={each} isBid={!buys} />
          </button>
        );
      })}
    </fieldset>
  );
}

function SizeField() {
  const sells = side.value === 'SELL';
  const label = isInShares.value ? t('Shares') : t('Amount (before fee)');
  return (
    <div class="field">
      <div class="field-head">
        <label for="size">{label}</label>
        {!sells && (
          <Choice
            label={t('Unit')}
            class="small"
            options={UNITS}
            chosen={unit.value}
            onChoose={(chosen) => {
              clear();
              choose({ unit: chosen });
            }}
          />
        )}
      </div>
      <div class="input-line">
        {!isInShares.value && (
          <span class="unit" aria-hidden="true">
            $
          </span>
        )}
        <input
          id="size"
          name="size"
          inputMode="decimal"
          autocomplete="off"
          placeholder="0"
          value={size.value}
          aria-invalid={refusal.value?.field === 'size'}
          aria-describedby="size-problem size-available"
          onInput={({ currentTarget }) => {
            clear();
            size.value = currentTarget.value;
            checkTyped('size');
          }}
        />
      </div>
      <Problem of="size" />
      <div class="presets">{sells ? <SellPresets /> : <BuyPresets />}</div>
      <Available />
    </div>
  );
}

function Preset({ label, value }: { label: string; value: string | null }) {
  return (
    <button
      type="button"
      class="preset"
      disabled={value === null}
      onClick={() => {
        clear();
        size.value = fieldText(value!);
      }}
    >
      {label}
    </button>
  );
}

function BuyPresets() {
  if (isInShares.value)
    return [1, 10, 100].map((each) => (
      <Preset
        key={each}
        label={`+${each}`}
        value={fromLots((sizeLots.value ?? 0) + each * 1_000)}
      />
    ));
  const most = mostMicros.value;
  return (
    <>
      {[1, 10, 100].map((each) => (
        <Preset
          key={each}
          label={`+$${each}`}
          value={fromMicros((sizeMicros.value ?? 0) + each * 1_000_000)}
        />
      ))}
      <Preset label={t('Max')} value={most === null ? null : fromMicros(most)} />
    </>
  );
}

function SellPresets() {
  const { freeLots } = held.value[outcome.value];
  return [25, 50, 100].map((part) => {
    const lots = Math.floor((freeLots * part) / 100);
    const label = part === 100 ? t('All') : `${part}%`;
    return <Preset key={part} label={label} value={lots <= 0 ? null : fromLots(lots)} />;
  });
}

function Available() {
  const money = balance.value;
  const own = held.value[outcome.value];
  const sells = side.value === 'SELL';
  const text =
    user.value === null
      ? t('Sign in or sign up to trade.')
      : money === null
        ? '\u00a0'
        : sells
          ? t('{0} {1} to sell', shares(own.freeLots), outcome.value)
          : t('{0} available', dollars(money.availableMicros));
  return (
    <p class="soft small" id="size-available">
      {text}
    </p>
  );
}

function Tolerance() {
  return (
    <div class="field-head">
      <label for="tolerance">
        {side.value === 'BUY'
          ? t('If the price rises, pay up to')
          : t('If the price falls, accept down to')}
      </label>
      <select
        id="tolerance"
        value={tolerance.value}
        onChange={({ currentTarget }) => {
          clear();
          tolerance.value = currentTarget.value as typeof tolerance.value;
        }}
      >
        {TOLERANCES.map((ticks) => (
          <option key={ticks} value={ticks}>
            {`${Number(ticks) / 10}¢ ${side.value === 'BUY' ? t('more') : t('less')}`}
          </option>
        ))}
      </select>
    </div>
  );
}

function LimitFields() {
  return (
    <>
      <div class="field">
        <div class="field-head">
          <label for="price">
            {side.value === 'BUY' ? t('Highest price per share') : t('Lowest price per share')}
          </label>
        </div>
        <div class="input-line">
          <input
            id="price"
            name="price"
            inputMode="decimal"
            autocomplete="off"
            placeholder="50"
            value={price.value}
            aria-invalid={refusal.value?.field === 'price'}
            aria-describedby="price-problem"
            onInput={({ currentTarget }) => {
              clear();
              price.value = currentTarget.value;
              checkTyped('price');
            }}
            onKeyDown={stepPrice}
          />
          <span class="unit" aria-hidden="true">
            ¢
          </span>
        </div>
        <Problem of="price" />
      </div>
      <div class="field">
        <label for="terms">{t('Time in force')}</label>
        <select
          id="terms"
          value={terms.value}
          aria-describedby="terms-problem"
          onChange={({ currentTarget }) => {
            clear();
            terms.value = currentTarget.value as Terms;
          }}
        >
          {TERMS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <Problem of="terms" />
      </div>
      {terms.value === 'GTC' && (
        <div class="field">
          <Check
            label={t('Post only: add to the book, pay no fee')}
            checked={postOnly.value}
            describedBy="postOnly-problem"
            onChange={({ checked }) => {
              clear();
              postOnly.value = checked;
            }}
          />
          <Problem of="postOnly" />
        </div>
      )}
    </>
  );
}

/** The arrow keys move the price by one tick, with Shift by ten. */
function stepPrice(event: KeyboardEvent): void {
  const step = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const from = priceTicks.peek();
  if (from === null) return;
  clear();
  const ticks = from + step * (event.shiftKey ? 10 : 1);
  price.value = typedCents(Math.min(Math.max(ticks, 1), 999));
}

function SendButton() {
  const of = outcome.value;
  const verb = side.value === 'BUY' ? t('Buy') : t('Sell');
  const shown = market.value;
  const isOut = user.value === null;
  const isAsked = asked.value !== null;
  const label = isOut
    ? t('Create an account to trade')
    : isSending.value
      ? t('Sending')
      : isLost.value
        ? t('No connection')
        : isAsked
          ? t('Confirm: {0}', summary())
          : `${verb} ${of}${shown === null ? '' : `, ${slotName(shown.id)}`}`;
  return (
    <button
      type="submit"
      class={`send ${isOut ? 'neutral' : of.toLowerCase()} ${isAsked ? 'asked' : ''}`}
      onClick={ignoreDoubleClick}
      disabled={!isOut && (isSending.value || isLost.value || isRolling.value || shown === null)}
    >
      {label}
    </button>
  );
}

function Problem({ of }: { of: Field }) {
  const found = refusal.value;
  return (
    <p class="problem" id={`${of}-problem`} role="alert">
      {found?.field === of ? found.sentence : ''}
    </p>
  );
}
