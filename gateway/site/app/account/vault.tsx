/** The flex vault: its holdings, the user's deposits, and staking. */
import { useSignal } from '@preact/signals';
import {
  claimYield,
  type Deposit,
  fromMicros,
  deposits as readDeposits,
  stake,
  toMicros,
  unstake,
  vaults,
} from '../../../client/index.js';
import { balance } from '../model/account.js';
import { now } from '../model/clock.js';
import { api, publicApi } from '../model/exchange.js';
import { tell } from '../model/notice.js';
import { user } from '../model/session.js';
import { Action } from '../parts/action.js';
import { ambiguity, readMicros, WRONG_MONEY } from '../parts/amount.js';
import { Form, TextField } from '../parts/form.js';
import { dayAndTime, dollars, perCent, whole } from '../parts/format.js';
import { Fact, Panel, Table } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

export function VaultPanel() {
  const userId = user.value?.userId ?? '';
  const vault = useReading(async () => (await vaults(publicApi)).vaults[0]!, 'vault');
  const deposits = useReading(async () => (await readDeposits(api, userId)).deposits, userId);
  const again = async () => {
    await Promise.all([vault.again(), deposits.again()]);
  };
  return (
    <div class="stack">
      <div class="columns">
        <Panel title={t('Flex vault')}>
          <div class="panel-body">
            <Read of={vault}>
              {(flex) => (
                <dl class="forecast">
                  <Fact label={t('Total staked')} value={dollars(toMicros(flex.staked))} />
                  <Fact label={t('Deposits')} value={whole(flex.deposits)} />
                  <Fact label={t('Share of all trading fees')} value={perCent(flex.feeShare)} />
                  <Fact label={t('Yield paid to date')} value={dollars(toMicros(flex.yieldPaid))} />
                  <Fact
                    label={t('APR, from the last day')}
                    value={flex.apr === null ? '\u2013' : perCent(flex.apr)}
                  />
                </dl>
              )}
            </Read>
          </div>
        </Panel>
        <Panel title={t('Stake')}>
          <div class="panel-body">
            <StakeForm done={again} />
          </div>
        </Panel>
      </div>
      <Panel title={t('Your deposits')}>
        <Read of={deposits}>{(own) => <Deposits of={own} done={again} />}</Read>
      </Panel>
    </div>
  );
}

function StakeForm({ done }: { done: () => Promise<void> }) {
  const amount = useSignal('');
  const send = async () => {
    const micros = readMicros(amount.peek());
    if (micros === null) return { amount: ambiguity(amount.peek()) || WRONG_MONEY };
    await stake(api, fromMicros(micros));
    amount.value = '';
    await done();
    return undefined;
  };
  const money = balance.value;
  return (
    <Form
      button={t('Stake')}
      send={send}
      names={{ amount: 'The amount' }}
      codes={{ insufficient_balance: ['amount'] }}
    >
      <TextField
        label={t('Amount in dollars')}
        name="amount"
        inputMode="decimal"
        value={amount}
        hint={
          money === null
            ? undefined
            : t(
                '{0} available. A deposit starts to earn 15 to 30 minutes after you make it, earns at most 0.1% of itself per market, and can be unstaked at any time.',
                dollars(money.availableMicros),
              )
        }
      />
    </Form>
  );
}

async function takeYield({ depositId }: Deposit): Promise<string> {
  const { claimed } = await claimYield(api, depositId);
  return t('{0} of yield claimed.', dollars(toMicros(claimed)));
}

async function takeOut({ depositId }: Deposit): Promise<string> {
  const { returned, yieldPaid } = await unstake(api, depositId);
  return t(
    '{0} unstaked, with {1} of yield.',
    dollars(toMicros(returned)),
    dollars(toMicros(yieldPaid)),
  );
}

function Deposits({ of, done }: { of: readonly Deposit[]; done: () => Promise<void> }) {
  const then = (change: () => Promise<string>) => () =>
    tell(async () => {
      const said = await change();
      await done();
      return said;
    });
  return (
    <Table
      label={t('Your deposits')}
      heads={[t('Deposit'), t('Amount'), t('Earns'), t('Yield due'), t('Yield claimed'), '']}
      nothing={t('Nothing is staked.')}
      rows={of.map((each) => ({
        key: each.depositId,
        cells: [
          dayAndTime(each.stakedAtMs),
          dollars(toMicros(each.amount)),
          each.earnsFromMs > now.value ? t('from {0}', dayAndTime(each.earnsFromMs)) : t('now'),
          dollars(toMicros(each.accruedYield)),
          dollars(toMicros(each.claimedYield)),
          <span key="actions" class="actions">
            <Action
              label={t('Claim the yield of {0}', each.depositId)}
              disabled={each.accruedYield === 0}
              run={then(() => takeYield(each))}
            >
              {t('Claim yield')}
            </Action>
            <Action label={t('Unstake {0}', each.depositId)} run={then(() => takeOut(each))}>
              {t('Unstake')}
            </Action>
          </span>,
        ],
      }))}
    />
  );
}
