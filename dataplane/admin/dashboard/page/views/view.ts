import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { Place } from '../data/place.ts';

/** What every view is given; `overview` is null until the first live figures have arrived. */
export type ViewProps = { readonly place: Place; readonly overview: Overview | null };
