import type { Problem } from '../../../shared/wire/apply.ts';
import type { Frame } from '../table.ts';

/** What controllers could not use, as they last reported it. */
export class ReportedProblems {
  private readonly byController = new Map<string, readonly Problem[]>();

  list(): Problem[] {
    return [...this.byController.values()].flat();
  }

  /** The frame's problems replace what its controller reported about the same sources. */
  replace({ header, problems }: Frame): void {
    const others = (this.byController.get(header.controller) ?? []).filter(({ source }) => !header.sources.includes(source));
    this.byController.set(header.controller, [...others, ...problems]);
  }
}
