import type { Problem } from '../../../shared/wire/apply.ts';
import type { Frame } from '../table.ts';

/** The problems that controllers last reported. */
export class ReportedProblems {
  private readonly byController = new Map<string, readonly Problem[]>();

  list(): Problem[] {
    return [...this.byController.values()].flat();
  }

  /** The frame's problems replace those that its controller reported earlier about the same sources. */
  replace({ header, problems }: Frame): void {
    const others = (this.byController.get(header.controller) ?? []).filter(({ source }) => !header.sources.includes(source));
    this.byController.set(header.controller, [...others, ...problems]);
  }
}
