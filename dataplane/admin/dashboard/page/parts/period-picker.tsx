import { useEffect, useState } from 'preact/hooks';
import { linkTo, type PageLocation } from '../data/page-location.ts';
import { DAY, dateOf, FIRST_DAY, LAST_DAY, MAX_DAYS, PERIODS, type Period } from '../data/period.ts';
import { RANGE } from '../strings.ts';

/** The choice of a period, kept in the address bar. */
export function PeriodPicker({ place, period }: { place: PageLocation; period: Period }) {
  const [own, setOwn] = useState(period.name === 'own');
  useEffect(() => setOwn(period.name === 'own'), [period.name]);
  const go = (query: Record<string, string>) => {
    location.hash = linkTo(place.view, place.subject, new Map(Object.entries(query)));
  };
  return (
    <fieldset class="periods">
      <legend class="hidden">{RANGE.label}</legend>
      {PERIODS.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={period.name === name}
          aria-expanded={name === 'own' ? own : undefined}
          onClick={() => {
            setOwn(name === 'own' && !own);
            if (name !== 'own') go({ range: name });
          }}
        >
          {RANGE[name]}
        </button>
      ))}
      {own && <OwnPeriod period={period} choose={go} />}
    </fieldset>
  );
}

function OwnPeriod({ period, choose }: { period: Period; choose: (query: Record<string, string>) => void }) {
  const [from, setFrom] = useState(dateOf(period.from));
  const [to, setTo] = useState(dateOf(period.to - DAY > period.from ? period.to - DAY : period.from));
  const wrong = from > to ? RANGE.wrongOrder : Date.parse(to) - Date.parse(from) >= MAX_DAYS * DAY ? RANGE.tooLong : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong === null) choose({ range: 'own', from, to });
      }}
    >
      <label>
        {RANGE.from}{' '}
        <input type="date" value={from} min={FIRST_DAY} max={LAST_DAY} required onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label>
        {RANGE.to}{' '}
        <input type="date" value={to} min={FIRST_DAY} max={LAST_DAY} required onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <button type="submit">{RANGE.apply}</button>
      {wrong !== null && (
        <p role="alert" class="wrong">
          {wrong}
        </p>
      )}
    </form>
  );
}
