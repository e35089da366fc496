/** The routes that the core serves for its edges, by name and by command. */
import { CommandKind } from '../../../engine/interface/commands.js';
import type { Gateway } from '../../http/gateway.js';
import { parameterNames, type Route } from '../../http/route.js';
import { type AnswerCounts, routeName } from '../../observe/metrics.js';

export interface ServedRoute {
  route: Route;
  names: string[];
  counts: AnswerCounts;
}

export class ServedRoutes {
  readonly unknown: AnswerCounts;
  private readonly byName = new Map<string, ServedRoute>();
  private readonly byKind = new Map<number, ServedRoute>();

  constructor({ metrics }: Gateway, routes: readonly Route[]) {
    this.unknown = metrics.answersOf(null);
    for (const route of routes) {
      const names = parameterNames(route.path);
      const served = { route, names, counts: metrics.answersOf(route) };
      this.byName.set(routeName(route), served);
      if (route.command !== undefined) this.byKind.set(CommandKind[route.command.kind], served);
    }
  }

  named(name: string): ServedRoute | null {
    return this.byName.get(name) ?? null;
  }

  /** Returns `null` if clients cannot send this command as a record. */
  ofKind(kind: number): ServedRoute | null {
    return this.byKind.get(kind) ?? null;
  }
}
