/** The answers that the thread of an edge gives without the core, until the core counts them. */
import { AnswerCounts, type AnswerMetrics, type RouteName } from '../../observe/metrics.js';
import type { OwnAnswers } from '../link/thread-messages.js';

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
    return [...this.counts].flatMap(([route, counts]) =>
      [...counts.take()].map(([status, count]) => [routeText(route), status, count] as const),
    );
  }
}

/** As {@link OwnAnswers} names it. */
export function routeText(route: RouteName | null): string {
  return route === null ? '' : `${route.method} ${route.path}`;
}
