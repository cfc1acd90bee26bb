import { useEffect, useState } from 'preact/hooks';

/** The location from the address bar: the view, its subject, and its parameters. `#/hosts/a.test?range=7d` */
export type PageLocation = { readonly view: string; readonly subject: string | null; readonly query: ReadonlyMap<string, string> };

export function readPageLocation(hash: string): PageLocation {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [view = '', ...subject] = path.split('/');
  return { view, subject: subject.length === 0 ? null : decoded(subject.join('/')), query: new Map(new URLSearchParams(query)) };
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function linkTo(view: string, subject: string | null = null, query: ReadonlyMap<string, string> = new Map()): string {
  const parameters = new URLSearchParams([...query]).toString();
  return `#/${view}${subject === null ? '' : `/${encodeURIComponent(subject)}`}${parameters === '' ? '' : `?${parameters}`}`;
}

export function usePageLocation(): PageLocation {
  const [place, setPageLocation] = useState(() => readPageLocation(location.hash));
  useEffect(() => {
    const follow = () => setPageLocation(readPageLocation(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}
