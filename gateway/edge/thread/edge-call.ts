/** At an edge in a thread: a request, which nearly always the core answers. */
import { Answer } from '../../http/answers/answer.js';

export class EdgeCall extends Answer {
  /** Whose it is, only the core knows. */
  readonly userId = 0;
  private isAnsweredHere = false;

  override answerNow(status: number, text: string): void {
    this.isAnsweredHere = true;
    super.answerNow(status, text);
  }

  /** The core measures and counts what it answers. */
  protected override measure(): void {
    if (this.isAnsweredHere) super.measure();
  }
}
