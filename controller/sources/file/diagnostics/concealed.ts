import { LONGEST_SEEN, MARKED, MARKS, spelt } from '../../../../shared/config-file/quote.ts';
import type { Position } from '../../../../shared/config-file/word.ts';

/**
 * Messages go to logs and pages that more people can read than the file. They may repeat what a user wrote in the main file, but not the
 * values of environment variables or the content of imported files, which may be any file of the machine. Therefore text quoted in a
 * message is marked, and the receiver decides by its position whether it is repeated.
 */

const LONGEST_QUOTE = 60;

/** A use of a variable: `{$NAME}`, and its value as messages would quote it. */
type Variable = { readonly shown: string; readonly value: string };

/** Shorter values are only removed where they were used, since they occur in too many words by chance. */
const SHORTEST_ELSEWHERE = 4;
const SHORTEST_BEGUN = 16;
/** More variables than any file has. */
const MAX_EVERYWHERE = 1_000;
/** The form in which non-ASCII names are returned. */
const PUNYCODE = /\bxn--[\w.-]*/gi;

export type Concealment = {
  /** A variable was used at a position: `shown` in the file. */
  substituted(place: Position, shown: string, value: string): void;
  /** A message for a position, with only the text that may be repeated. */
  shownAt(place: Position, message: string): string;
};

/** `main`: the file whose text may be repeated. `lineAt`: the line of a position in its file. */
export function createConcealment(main: string, lineAt: (place: Position) => string | undefined): Concealment {
  const byLine = new Map<string, Variable[]>();
  const everywhere = new Map<string, Variable>();
  return {
    substituted: (place, shown, text) => {
      const value = spelt(text);
      if (value === '') return;
      const line = byLine.get(lineKey(place)) ?? [];
      byLine.set(lineKey(place), line);
      if (!line.some((known) => known.value === value)) line.push({ shown, value });
      if (value.length >= SHORTEST_ELSEWHERE && everywhere.size < MAX_EVERYWHERE) everywhere.set(value, { shown, value });
    },
    shownAt: (place, message) => {
      const links = linksOf(place);
      const isForeign = links.some(({ path }) => path !== main);
      const here = links.flatMap((link) => byLine.get(lineKey(link)) ?? []);
      const variables = [...here, ...everywhere.values()];
      const repeated = (text: string): string => {
        if (isForeign) return '…';
        const visible = variables.reduce(withoutValue, text);
        // A value that was changed before it is quoted can't be found, but it isn't in the file either.
        return here.length === 0 || links.some((link) => lineAt(link)?.includes(visible)) ? shortened(visible) : '…';
      };
      const kept = message.replace(MARKED, (_, open: string, text: string, close: string) => open + repeated(text) + close);
      const rest = [...everywhere.values()].reduce(withoutValue, kept);
      const visible = here.flatMap(fragmentsOf).reduce((sofar, fragment) => sofar.replace(anywhere(fragment), '…'), rest);
      return (isForeign || here.length > 0 ? visible.replace(PUNYCODE, '…') : visible).replace(MARKS, '');
    },
  };
}

/** A position, and each position at which its text was imported. */
function linksOf(place: Position): Position[] {
  const links = [place];
  for (let at = place.from?.at; at; at = at.from?.at) links.push(at);
  return links;
}

const lineKey = ({ path, line }: Position): string => `${path}:${line}`;

/** Also in lower case. */
function withoutValue(text: string, { shown, value }: Variable): string {
  const without = text.replace(anywhere(value), () => shown);
  // The end of a value may be missing from a truncated word.
  const start = text.length >= LONGEST_SEEN && value.length >= SHORTEST_BEGUN ? without.indexOf(value.slice(0, SHORTEST_BEGUN)) : -1;
  return start < 0 ? without : without.slice(0, start) + shown;
}

/** The parts of a value that is split. */
const fragmentsOf = ({ value }: Variable): string[] => value.split(/[^\p{L}\p{N}_]+/u).filter(({ length }) => length >= SHORTEST_ELSEWHERE);

const anywhere = (text: string): RegExp => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'gi');

function shortened(text: string): string {
  const characters = [...text.slice(0, LONGEST_QUOTE * 4)];
  return characters.length > LONGEST_QUOTE ? `${characters.slice(0, LONGEST_QUOTE).join('')}…` : characters.join('');
}
