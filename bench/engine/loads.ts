/** The two loads by which builds of the engine are compared. */
import type { Engine } from '../../engine/engine.js';
import type { CommandList } from '../../test/support/workload/command-list.js';
import { marketForMessages, planMessages } from '../../test/support/workload/message-orders.js';
import type { OrderTape } from '../../test/support/workload/order-tape.js';
import { prepareEngine, type Workload } from '../../test/support/workload/workload.js';

/** Leaves some thousand resting orders. */
const MESSAGE_LIFETIME = 4_000;

export interface Load {
  figure: string;
  title: string;
  prepare: () => Engine;
  commands: CommandList;
  digest: string;
  tape: OrderTape;
}

export function mixedLoad(workload: Workload): Load {
  const prepare = () => roomy(prepareEngine(workload.setup));
  return { ...workload, figure: 'mixed', title: 'Mixed workload', prepare };
}

/** Messages in the shape of public benchmarks. */
export function messagesLoad(seed: string, count: number): Load {
  return {
    ...planMessages({ seed, count, shape: 'static', lifetime: MESSAGE_LIFETIME }),
    figure: 'messages',
    title: `Messages (test/support/workload/messages.ts), seed ${seed}`,
    prepare: () => roomy(marketForMessages().engine),
  };
}

/** As in an exchange. */
export function roomy(engine: Engine): Engine {
  engine.reserve();
  return engine;
}
