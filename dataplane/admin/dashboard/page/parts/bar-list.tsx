import { useContext, useState } from 'preact/hooks';
import type { HistoryList } from '../../../../../shared/wire/history.ts';
import { count, exact, percent, visible } from '../data/format.ts';
import { LIST_COLUMN, TEXT } from '../strings.ts';
import { Change, Comparable } from './figure.tsx';

const FIRST = 8;

type BarListProps = {
  readonly name: string;
  readonly now: HistoryList;
  readonly before: HistoryList;
  /** The total that shares are computed from. */
  readonly total: number;
  readonly empty: string;
  readonly nameOf?: ((name: string) => string) | undefined;
};

/** The most frequent names with their share and how it changed. */
export function BarList({ name, now, before, total, empty, nameOf = (text) => text }: BarListProps) {
  const [whole, setWhole] = useState(false);
  const comparable = useContext(Comparable);
  if (now.length === 0) return <p class="empty">{empty}</p>;
  const previous = new Map(before.map((entry) => [entry.name, entry.count]));
  const most = now[0]?.count ?? 1;
  const shown = whole ? now : now.slice(0, FIRST);
  return (
    <>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">{name}</th>
            <th scope="col" class="number">
              {LIST_COLUMN.views}
            </th>
            <th scope="col" class="number">
              {LIST_COLUMN.share}
            </th>
            {comparable && (
              <th scope="col" class="number">
                {LIST_COLUMN.change}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((entry) => (
            <tr key={entry.name}>
              <th scope="row" title={visible(nameOf(entry.name))}>
                <span class="bar" style={{ width: `${(entry.count / most) * 100}%` }} />
                <span class="name">{visible(nameOf(entry.name))}</span>
              </th>
              <td class="number" title={exact(entry.count)}>
                {count(entry.count)}
              </td>
              <td class="number">{percent(total === 0 ? 0 : entry.count / total)}</td>
              {comparable && (
                <td class="number">
                  <Change now={entry.count} before={previous.get(entry.name) ?? 0} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {now.length > FIRST && !whole && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {TEXT.allOf(exact(now.length))}
        </button>
      )}
    </>
  );
}
