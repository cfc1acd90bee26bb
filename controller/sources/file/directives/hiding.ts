import { covers } from '../../../../shared/config-file/path-pattern.ts';
import type { HandleDraft, SiteDraft } from './rule.ts';
import type { Selection } from './selections.ts';

/** The first block that handles every request that another block is for; undefined if there is none. */
export function hidingBlock(
  { handles, selections }: SiteDraft,
  selection: Selection,
  counts: (other: HandleDraft) => boolean = always,
): HandleDraft | undefined {
  if (!selections.mayHide(selection)) return undefined;
  return handles.find((other) => counts(other) && hides(other, selection));
}

const always = (): boolean => true;

function hides(earlier: HandleDraft, { path, match }: Selection): boolean {
  if (earlier.match !== null) return earlier.match === match;
  if (match === null) return covers(earlier.path, path);
  return earlier.path === null || match.path?.every((pattern) => covers(earlier.path, pattern)) === true;
}

export function addBlock({ handles, selections }: SiteDraft, block: HandleDraft): void {
  handles.push(block);
  selections.add(block);
}
