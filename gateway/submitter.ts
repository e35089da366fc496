/** The part of the sequencer that those need who send commands of their own: the scheduler and the house. */
import type { Sequencer } from '../persistence/sequencer.js';

export type Submitter = Pick<Sequencer, 'engine' | 'submit'>;
