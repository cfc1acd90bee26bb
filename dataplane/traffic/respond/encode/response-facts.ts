/** The properties of a response that decide whether its body may be encoded. */
export type ResponseFacts = {
  /** In lower case, without parameters; empty if there is none, or several. */
  readonly type: string;
  /** Its body is encoded already, a part of one, or must not be changed (RFC 9111 5.2.2.6). */
  readonly fixed: boolean;
  readonly setsCookies: boolean;
  /** Whether it already varies by Accept-Encoding, or by everything. */
  readonly varies: boolean;
};

/** Reads field lines once. */
export function readFacts(fields: string): ResponseFacts {
  let type: string | null = null;
  let fixed = false;
  let setsCookies = false;
  let varies = false;
  for (let at = 0; at < fields.length; ) {
    const end = fields.indexOf('\r\n', at);
    const colon = fields.indexOf(':', at);
    // Most names have other lengths, and need not be compared.
    switch (colon - at) {
      case 4:
        if (nameIs(fields, at, 'vary')) varies ||= /(?:^|,)[ \t]*(?:\*|accept-encoding)[ \t]*(?:,|$)/i.test(fields.slice(colon + 1, end));
        break;
      case 10:
        setsCookies ||= nameIs(fields, at, 'set-cookie');
        break;
      case 12:
        if (nameIs(fields, at, 'content-type')) {
          const semicolon = fields.indexOf(';', colon);
          const value = fields.slice(colon + 1, semicolon < 0 || semicolon > end ? end : semicolon);
          type = type === null ? value.trim().toLowerCase() : '';
        }
        break;
      case 13:
        fixed ||= nameIs(fields, at, 'cache-control') && /(?:^|[\s,])no-transform[ \t]*(?:,|$)/i.test(fields.slice(colon + 1, end));
        fixed ||= nameIs(fields, at, 'content-range');
        break;
      case 16:
        fixed ||= nameIs(fields, at, 'content-encoding');
    }
    at = end < 0 ? fields.length : end + 2;
  }
  return { type: type ?? '', fixed, setsCookies, varies };
}

const nameIs = (fields: string, at: number, name: string): boolean => fields.slice(at, at + name.length).toLowerCase() === name;
