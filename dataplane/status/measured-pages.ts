import type { BeaconOutcome } from '../traffic/protocol.ts';

const REASONS: readonly (readonly [BeaconOutcome, string])[] = [
  ['forbidden', 'a Content-Security-Policy or Integrity-Policy that does not allow the script or its report'],
  ['no head', 'no </head> and no <body> where a script would run'],
  ['encoding', 'an encoding other than UTF-8'],
  ['coding', 'a content coding other than gzip, br and zstd, or one that is declared without being used'],
  ['memory', 'lack of memory for compressed pages: many were being sent at once'],
];

/** Describes for `explain` a site that measures its pages. */
export function describeMeasuring(pages: ReadonlyMap<BeaconOutcome, number>): string {
  const added = pages.get('added') ?? 0;
  const left = REASONS.flatMap(([outcome, why]) => {
    const count = pages.get(outcome) ?? 0;
    return count === 0 ? [] : [`${count} without it, for ${why}`];
  });
  if (added === 0 && left.length === 0) return 'pages are measured; none has been served since the start';
  return [`pages are measured: ${added} with the script since the start`, ...left].join('; ');
}
