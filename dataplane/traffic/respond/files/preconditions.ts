import { httpTime } from '../../codec/http-time.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';

/** The version of a file that conditions are compared with. */
export type Validators = {
  /** With quotation marks, and `W/` if weak. */
  readonly etag: string;
  /** Milliseconds since 1970, without a fraction of a second. */
  readonly modified: number;
  /** Whether both are certain to change when the file does. */
  readonly strong: boolean;
};

/** Fields of a request, each once; an empty text if absent. */
const list = (fields: string, name: string): string | null => {
  const values = fieldsIn(fields, name);
  return values.length === 0 ? null : values.join(', ');
};

/** Conditional requests in the order of RFC 9110 13.2.2. @returns the status that replaces the file; 0 for none. */
export function preconditionStatus(fields: string, validators: Validators): 0 | 304 | 412 {
  const { etag, modified, strong } = validators;
  const ifMatch = list(fields, 'if-match');
  if (ifMatch !== null) {
    if (ifMatch !== '*' && !(strong && tagsIn(ifMatch).includes(etag))) return 412;
  } else {
    const since = dateIn(fields, 'if-unmodified-since');
    if (since !== null && modified > since) return 412;
  }
  const ifNoneMatch = list(fields, 'if-none-match');
  if (ifNoneMatch !== null) return ifNoneMatch === '*' || tagsIn(ifNoneMatch).some((tag) => opaque(tag) === opaque(etag)) ? 304 : 0;
  const since = dateIn(fields, 'if-modified-since');
  return since !== null && modified <= since ? 304 : 0;
}

/** Whether a range may be answered in part (RFC 9110 13.1.5). */
export function ifRangeHolds(fields: string, { etag, modified, strong }: Validators): boolean {
  const value = list(fields, 'if-range');
  if (value === null) return true;
  if (!strong) return false;
  return value.startsWith('"') ? value === etag : dateOf(value) === modified;
}

const opaque = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag);

/** Entity tags of a list (RFC 9110 8.8.3), which may contain commas. */
const tagsIn = (value: string): readonly string[] => value.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];

function dateIn(fields: string, name: string): number | null {
  const values = fieldsIn(fields, name);
  return values.length === 1 ? dateOf(values[0] as string) : null;
}

function dateOf(text: string): number | null {
  const time = httpTime(text);
  return Number.isNaN(time) ? null : time;
}
