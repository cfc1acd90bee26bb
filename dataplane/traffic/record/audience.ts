import { type Audience, LIST_NAMES, type ListName, MACHINE_REASONS, type MachineReason } from '../protocol.ts';

/** The people and machines among the clients of one host since the last report. */
export class AudienceCounts {
  humans = 0;
  pageViews = 0;
  readonly machines: Record<MachineReason, number> = { excluded: 0, gpc: 0, prefetch: 0, monitor: 0, bot: 0 };
  readonly visitors = new Set<number>();
  readonly lists = new Map<ListName, Map<string, number>>();

  report(): Audience {
    const { humans, pageViews, machines, visitors } = this;
    return { humans, pageViews, machines, visitors: [...visitors], lists: listsOf((name) => [...(this.lists.get(name) ?? [])]) };
  }
}

/** An audience of nobody. */
export const NOBODY: Audience = {
  humans: 0,
  pageViews: 0,
  machines: Object.fromEntries(MACHINE_REASONS.map((reason) => [reason, 0])) as Record<MachineReason, number>,
  visitors: [],
  lists: listsOf(() => []),
};

function listsOf(entries: (name: ListName) => Audience['lists'][ListName]): Audience['lists'] {
  return Object.fromEntries(LIST_NAMES.map((name) => [name, entries(name)])) as unknown as Audience['lists'];
}
