import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';
import type { Loaded } from '../data/load.ts';
import type { PageLocation } from '../data/page-location.ts';
import type { Period } from '../data/period.ts';

/** What every view is given; `overview` is null until the first live figures have arrived. */
export type ViewProps = {
  readonly place: PageLocation;
  readonly overview: Overview | null;
  /** The chosen period, and the visits in it: of the host, or of all. */
  readonly period: Period;
  readonly history: Loaded<History>;
};
