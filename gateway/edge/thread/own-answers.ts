/** The answers that the thread of an edge gives without the core, until the core counts them. */
import {
  AnswerCounts,
  type AnswerMetrics,
  type RouteName,
  routeName,
} from '../../observe/metrics.js';
import { NO_ROUTE, type OwnAnswers } from '../link/thread-messages.js';

const NOT_MEASURED = { observe: () => {} };

export class OwnAnswerCounts implements AnswerMetrics {
  readonly commitMs = NOT_MEASURED;
  readonly requestMs = NOT_MEASURED;
  private readonly counts = new Map<RouteName | null, AnswerCounts>();

  answersOf(route: RouteName | null): AnswerCounts {
    const counts = this.counts.get(route) ?? new AnswerCounts();
    this.counts.set(route, counts);
    return counts;
  }

  /** What has not been taken yet. */
  take(): OwnAnswers {
    return [...this.counts].flatMap(([route, counts]) => {
      const name = route === null ? NO_ROUTE : routeName(route);
      return counts.take().map(([status, count]) => [name, status, count] as const);
    });
  }
}
