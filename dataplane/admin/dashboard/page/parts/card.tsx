import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Loaded } from '../data/load.ts';
import { ERRORS, TEXT } from '../strings.ts';

/** A titled part of a view. */
export function Card(props: { title: string; note?: string; class?: string; busy?: boolean; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ''}`} aria-labelledby={id} aria-busy={props.busy}>
      <h2 id={id}>{props.title}</h2>
      {props.note !== undefined && <p class="note">{props.note}</p>}
      {props.children}
    </section>
  );
}

/** Shown in place of content that is loading or could not be loaded. */
export function Waiting<T>({ loaded: { failure, value } }: { loaded: Loaded<T> }) {
  if (failure !== null)
    return (
      <section class="card empty" role="alert">
        <h2>{ERRORS.title}</h2>
        <p>{failure}</p>
      </section>
    );
  return value === null ? <Loading /> : null;
}

/** As tall as the window, so that nothing below it moves into view before it moves down again. */
export const Loading = () => (
  <p class="empty loading" role="status">
    {TEXT.loading}
  </p>
);
