/**
 * The least exchange, for comparison: engine, sequencer, journal and receipts of this program, and
 * around them only a token in a map and JSON.parse. It has no follower. What a buy costs the
 * exchange beyond it is what the gateway does: bodies that are checked, sessions, limits, metrics,
 * the stream.
 */
import '../../persistence/compiler-flags.js';
import * as uWS from 'uWebSockets.js';
import { Engine } from '../../engine/engine.js';
import type { Buy, Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../engine/interface/limits.js';
import { ResultHead } from '../../engine/interface/results.js';
import { orderReceipt } from '../../gateway/resources/orders/order-receipt.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { type ReleaseTarget, Sequencer } from '../../persistence/sequencer.js';
import { buyOrder, observedPrice, registration, WINDOW_START_MS } from '../workload/open-market.js';

export interface LeastSetup {
  /** Of the users who send buys. */
  tokens: readonly string[];
  /** The path after /api of every buy. */
  path: string;
  folder: string;
}

const MAKERS = 20;
const FUNDS_MICROS = 900_000 * MICROS_PER_DOLLAR;
const ORDER_LOTS = 400_000_000;
/** Both outcomes can be bought, and the makers' orders do not match each other. */
const MAKER_TICKS = 499;

class Answer implements ReleaseTarget {
  receipt: Uint8Array = new Uint8Array();

  constructor(private response: uWS.HttpResponse | null) {
    response!.onAborted(() => {
      this.response = null;
    });
  }

  release(): void {
    const { response, receipt } = this;
    response?.cork(() => {
      response.writeHeader('Content-Type', 'application/json');
      response.writeHeader('Cache-Control', 'no-store');
      response.end(receipt);
    });
  }
}

async function begin({ tokens, path, folder }: LeastSetup): Promise<void> {
  const engine = new Engine();
  engine.reserve();
  const sequencer = new Sequencer({
    engine,
    journal: await openJournal({ folder }),
    now: () => WINDOW_START_MS,
    onFatal: (error) => {
      throw error;
    },
  });
  const execute = (command: Command) => {
    const result = sequencer.submit(command);
    if (result.values[ResultHead.code] !== 0) throw new Error(`a ${command.kind} is refused`);
    return result;
  };
  execute({ kind: 'listAsset', symbol: 'BTC' });
  execute(observedPrice(WINDOW_START_MS));
  const users = new Map(tokens.map((token, i) => [token, i + 1]));
  for (let user = 1; user <= tokens.length + MAKERS; user++)
    execute(registration(user, FUNDS_MICROS));
  const marketId = engine.activeMarket(0);
  const resting = { marketId, sizeLots: ORDER_LOTS, priceTicks: MAKER_TICKS };
  for (let maker = tokens.length + 1; maker <= tokens.length + MAKERS; maker++)
    for (const outcome of [Outcome.UP, Outcome.DOWN])
      execute(buyOrder({ ...resting, userId: maker, outcome, timeInForce: TimeInForce.GTC }));

  const buy = (userId: number, body: { outcome: string; amount: number }): Buy =>
    buyOrder({
      userId,
      marketId,
      outcome: body.outcome === 'UP' ? Outcome.UP : Outcome.DOWN,
      budgetMicros: Math.round(body.amount * MICROS_PER_DOLLAR),
    });
  const app = uWS.App();
  app.post(`/api${path}`, (response, request) => {
    const userId = users.get(request.getHeader('x-user-token'))!;
    const answer = new Answer(response);
    response.onData((data, isLast) => {
      if (!isLast) throw new Error('a body in pieces');
      const command = buy(userId, JSON.parse(Buffer.from(data).toString('latin1')));
      answer.receipt = orderReceipt(engine, execute(command), 0, command);
      sequencer.releaseAt(engine.sequence, answer);
    });
  });
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen');
    process.send!({ port: uWS.us_socket_local_port(socket as never) });
  });
}

process.once('message', (setup: LeastSetup) => void begin(setup));
process.on('disconnect', () => process.exit(0));
