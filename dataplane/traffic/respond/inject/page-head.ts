import { type ContentSecurityPolicy, parsePolicies, reportedPolicies } from './content-security-policy.ts';

/** The properties of a page in the head of its response. */
export type PageHead = {
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly policies: readonly ContentSecurityPolicy[];
  /** Whether an Integrity-Policy demands a digest of each script, which would outdate a page in a cache whenever the script changes. */
  readonly scriptsNeedDigest: boolean;
  /** A download, a part of a page, one that may be no page at all, or one that must not be changed (RFC 9111 5.2.2.6). */
  readonly fixed: boolean;
};

/** Reads field lines once. */
export function readPageHead(fields: string): PageHead {
  let contentType = '';
  let contentEncoding = '';
  let scriptsNeedDigest = false;
  let fixed = false;
  const policies: ContentSecurityPolicy[] = [];
  for (const line of fields.split('\r\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).toLowerCase()) {
      case 'content-type':
        // Browsers differ on which of several counts.
        fixed ||= contentType !== '';
        contentType = value.toLowerCase();
        break;
      case 'content-encoding':
        contentEncoding += `${contentEncoding && ','}${value.toLowerCase()}`;
        break;
      case 'content-security-policy':
        policies.push(...parsePolicies(value));
        break;
      case 'content-security-policy-report-only':
        policies.push(...reportedPolicies(value));
        break;
      case 'integrity-policy':
      case 'integrity-policy-report-only':
        scriptsNeedDigest ||= /\bscript\b/.test(value);
        break;
      case 'cache-control':
        fixed ||= /(^|[\s,])no-transform\b/i.test(value);
        break;
      case 'content-disposition':
        fixed ||= /^attachment\b/i.test(value);
        break;
      case 'content-range':
        fixed = true;
    }
  }
  return { contentType, contentEncoding, policies, scriptsNeedDigest, fixed };
}

/** The label of the encoding in a Content-Type in lower case; null if it has none. */
export const charsetIn = (contentType: string): string | null =>
  /;\s*charset=(?:"([^"]*)"|([^\s;]*))/.exec(contentType)?.slice(1).join('') ?? null;

/** Fields that describe exactly the bytes that the upstream sent (RFC 9530); ranges of these bytes can't be requested either. */
const OF_THE_BYTES: ReadonlySet<string> = new Set(['accept-ranges', 'content-md5', 'digest', 'content-digest', 'repr-digest']);

/** The field lines of a page that was changed: its tag is weak, since it is no longer the same byte for byte (RFC 9110 8.8.1). */
export function changedFields(fields: string): string {
  return fields
    .split('\r\n')
    .filter((line) => !OF_THE_BYTES.has(line.slice(0, line.indexOf(':')).toLowerCase()))
    .map((line) => line.replace(STRONG_TAG, '$1W/'))
    .join('\r\n');
}

const STRONG_TAG = /^(etag:[ \t]*)(?=")/i;

/** Field lines of a 304: their tag is made weak if that is how the client knows it. */
export function notModifiedFields(fields: string, ifNoneMatch: string | null): string {
  const tag = /(?:^|\r\n)etag:[ \t]*("[^"\r\n]*")/i.exec(fields)?.[1];
  return tag !== undefined && ifNoneMatch?.includes(`W/${tag}`) ? fields.replace(/(^|\r\n)(etag:[ \t]*)(?=")/i, '$1$2W/') : fields;
}
