import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { exact } from '../data/format.ts';
import { HOSTS, TEXT } from '../strings.ts';

/** How many rows are shown first unless a table says otherwise, and how many more each time. */
const ROWS = 100;

type FilteredProps<T> = {
  readonly caption: string;
  readonly columns: readonly { readonly name: string; readonly number?: boolean }[];
  readonly items: readonly T[];
  /** The text that the filter searches, in lower case. */
  readonly textOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
  readonly first?: string | undefined;
  readonly rows?: number;
  /** When nothing is there, and when nothing matches. */
  readonly empty: ComponentChildren;
  readonly noMatch: string;
};

/** A cell of a row. On a narrow screen, where rows are stacked, `of` is shown before it: the name of its column. */
export const Cell = ({ of, number, children }: { of: string; number?: true; children: ComponentChildren }) => (
  <td data-name={of} class={number && 'number'}>
    {/* One child, which keeps its own layout where the cell has two columns. */}
    <div>{children}</div>
  </td>
);

/** A table with a filter, some rows at a time. */
export function Filtered<T>({ caption, columns, items, textOf, row, first = '', rows = ROWS, empty, noMatch }: FilteredProps<T>) {
  const [filter, setFilter] = useState(first);
  const [shown, setShown] = useState(rows);
  const id = useId();
  useEffect(() => setFilter(first), [first]);
  if (items.length === 0) return <div class="empty">{empty}</div>;
  const wanted = filter.trim().toLowerCase();
  const matching = wanted === '' ? items : items.filter((item) => textOf(item).includes(wanted));
  return (
    <>
      {items.length > 5 && (
        <p class="filter">
          <label for={id} class="hidden">
            {HOSTS.filter}
          </label>
          <input
            id={id}
            type="search"
            placeholder={HOSTS.filter}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <span class="dim" role="status">
            {TEXT.of(exact(matching.length), exact(items.length))}
          </span>
        </p>
      )}
      {matching.length === 0 ? (
        <p class="empty">{noMatch}</p>
      ) : (
        <section class="scroll stacked" tabIndex={0} aria-label={TEXT.table(caption)}>
          <table>
            <caption class="hidden">{caption}</caption>
            <thead>
              <tr>
                {columns.map(({ name, number }) => (
                  <th key={name} scope="col" class={number ? 'number' : undefined}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{matching.slice(0, shown).map(row)}</tbody>
          </table>
        </section>
      )}
      {matching.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + ROWS)}>
          {TEXT.more(exact(Math.min(ROWS, matching.length - shown)))}
        </button>
      )}
    </>
  );
}
