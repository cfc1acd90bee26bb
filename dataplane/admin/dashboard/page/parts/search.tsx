import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AnalyticsSnapshot } from '../../../../../shared/wire/analytics.ts';
import type { FullRoute, UpstreamStatus } from '../../../../../shared/wire/status.ts';
import { visible } from '../data/format.ts';
import { useLoaded } from '../data/load.ts';
import { find, indexOf, type SearchEntry } from '../data/search-index.ts';
import { TEXT } from '../strings.ts';

/** Finds any host, container, path or address. `hosts`: those that have had visits in the period that is shown. */
export function Search({ close, hosts }: { close: () => void; hosts: readonly { readonly domain: string }[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** The chosen one. */
  const option = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const routes = useLoaded<FullRoute[]>('routes?view=full');
  const upstreams = useLoaded<UpstreamStatus[]>('upstreams');
  const analytics = useLoaded<AnalyticsSnapshot[]>('analytics');
  const index = useMemo(
    () => indexOf(routes.value ?? [], upstreams.value ?? [], analytics.value ?? [], hosts),
    [routes.value, upstreams.value, analytics.value, hosts],
  );
  const found = useMemo(() => find(index, text), [index, text]);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useLayoutEffect(() => option.current?.scrollIntoView({ block: 'nearest' }), [found, chosen]);
  const go = (entry: SearchEntry | undefined) => {
    if (entry === undefined) return;
    location.hash = entry.link;
    close();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen(Math.max(0, Math.min(found.length - 1, chosen + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(found[chosen]);
    } else if (event.key === 'Escape') {
      // Otherwise the first one only empties the field.
      event.preventDefault();
      dialog.current?.close();
    }
  };
  return (
    <dialog ref={dialog} onClose={close} class="search" aria-label={TEXT.search}>
      <div class="line">
        <input
          type="search"
          role="combobox"
          aria-label={TEXT.search}
          aria-expanded={found.length > 0}
          aria-controls="found"
          aria-activedescendant={found.length > 0 ? `found-${chosen}` : undefined}
          aria-autocomplete="list"
          list={undefined}
          placeholder={TEXT.searchHint}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={pressed}
        />
        <button type="button" onClick={() => dialog.current?.close()}>
          {TEXT.close}
        </button>
      </div>
      <p class="hidden" role="status">
        {text !== '' && found.length}
      </p>
      <div id="found" role="listbox" aria-label={TEXT.search}>
        {found.map((entry, at) => (
          <div
            key={`${entry.kind} ${entry.name} ${entry.about}`}
            id={`found-${at}`}
            ref={at === chosen ? option : null}
            role="option"
            aria-selected={at === chosen}
            onClick={() => go(entry)}
          >
            <span class="tag">{entry.kind}</span> <b>{visible(entry.name)}</b> <span class="dim">{visible(entry.about)}</span>
          </div>
        ))}
      </div>
      {text.trim() !== '' && found.length === 0 && <p class="empty">{routes.loading ? TEXT.loading : TEXT.searchNothing}</p>}
    </dialog>
  );
}
