/**
 * Room for the maxima in an engine that follows the journal, so that no table is moved once it is
 * large. To reserve takes some 20 ms, which an engine that stays small does not pay.
 */
import type { Engine } from '../../engine/engine.js';

/** An engine that has executed fewer commands is small. */
const SMALL_COMMANDS = 20_000;

/** Called at the start and after each batch: once there is room, it does nothing. */
export function reserveIfLarge(engine: Engine): void {
  if (engine.sequence >= SMALL_COMMANDS) engine.reserve();
}
