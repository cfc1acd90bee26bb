import { BEACON_SCRIPT_PATH } from '../../../../shared/name.ts';
import type { FilteredRequest } from '../../exchange/filter.ts';
import { type ContentSecurityPolicy, metaPolicies, type PageOrigin, scriptNonce } from './content-security-policy.ts';
import { type Attributes, HeadScanner } from './head-scanner.ts';

/** Receives the bytes of the page. @returns false when no more should be sent for now. */
export type Emit = (buffer: Buffer, from: number, to: number) => boolean;

/** How much of the policies in a page is read (characters): a page with more counts as forbidding the script. */
const MAX_POLICIES = 16_384;
const NOTHING = Buffer.alloc(0);

/** The properties of a page from the head of its response. */
export type Page = {
  readonly request: FilteredRequest;
  readonly policies: readonly ContentSecurityPolicy[];
  /** Whether Content-Type names the encoding, which takes precedence over the page itself. */
  readonly encoded: boolean;
};

/** One page on its way to the client: passes its bytes on, with the script element inserted. */
export class Insertion {
  private readonly page: Page;
  private readonly policies: ContentSecurityPolicy[];
  private readonly emit: Emit;
  private readonly scanner = new HeadScanner((name, attributes) => this.inspect(name, attributes));
  /** Held bytes that may begin the insertion point. */
  private held = NOTHING;
  private begun = false;
  private over = false;
  private based = false;
  /** The length of the policies found in the page. */
  private policed = 0;
  /** The reason found in the page why it gets no script. */
  private obstacle: 'forbidden' | 'encoding' | null = null;

  constructor(page: Page, emit: Emit) {
    this.page = page;
    this.policies = [...page.policies];
    this.emit = emit;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (this.over) return this.emit(buffer, from, to);
    if (!this.begun && from < to) {
      this.begun = true;
      // The byte order mark of UTF-16 takes precedence over every other declaration, and begins with a byte that UTF-8 never has.
      if ((buffer[from] as number) >= 0xfe) this.obstacle = 'encoding';
    }
    if (this.held.length === 0) return this.search(buffer, from, to);
    // At most six bytes are held, and pages arrive in pieces of kilobytes, so bytes are copied at most once per piece.
    const joined = Buffer.concat([this.held, buffer.subarray(from, to)]);
    return this.search(joined, 0, joined.length);
  }

  /** The page is complete. */
  end(): void {
    if (this.over) return;
    this.pass(this.held, 0, this.held.length);
    this.giveUp();
  }

  private search(buffer: Buffer, from: number, to: number): boolean {
    const { outcome, safe } = this.scanner.scan(buffer, from + this.held.length, to);
    if (outcome === 'searching' && this.obstacle === null) {
      this.held = Buffer.from(buffer.subarray(safe, to));
      return this.pass(buffer, from, safe);
    }
    this.held = NOTHING;
    this.over = true;
    const element = outcome === 'found' ? this.element() : this.giveUp();
    if (element === null) return this.emit(buffer, from, to);
    this.pass(buffer, from, safe);
    this.emit(element, 0, element.length);
    return this.emit(buffer, safe, to);
  }

  private pass(buffer: Buffer, from: number, to: number): boolean {
    return from === to || this.emit(buffer, from, to);
  }

  private giveUp(): null {
    this.page.request.beacon = this.obstacle ?? 'no head';
    return null;
  }

  private element(): Buffer | null {
    const { request } = this.page;
    const nonce = scriptNonce(this.policies, originOf(request));
    if (nonce === null) this.obstacle ??= 'forbidden';
    if (nonce === null || this.obstacle !== null) return this.giveUp();
    request.beacon = 'added';
    // A `<base>` moves paths to another origin.
    const origin = this.based ? `${request.secure ? 'https' : 'http'}://${request.hostField}` : '';
    return Buffer.from(`<script defer src="${origin}${BEACON_SCRIPT_PATH}"${nonce && ` nonce="${nonce}"`}></script>`, 'latin1');
  }

  private inspect(name: string, attributes: Attributes): void {
    if (name === 'base') {
      this.based ||= attributes.has('href');
      return;
    }
    if (attributes.has('charset')) this.readEncoding(attributes.get('charset'));
    const kind = attributes.get('http-equiv');
    const content = attributes.get('content');
    if (kind === undefined || content === undefined) return;
    // Character references are not decoded: this could be a policy.
    if (kind === null || kind.includes('&')) this.obstacle ??= 'forbidden';
    else if (kind.toLowerCase() === 'content-type') this.readEncoding(content && charsetOf(content));
    else if (kind.toLowerCase() === 'content-security-policy') this.obey(content);
  }

  /** `<meta http-equiv="Content-Security-Policy">` (CSP Level 3, 3.3). */
  private obey(policy: string | null): void {
    this.policed += policy?.length ?? 0;
    if (policy === null || policy.includes('&') || this.policed > MAX_POLICIES) this.obstacle ??= 'forbidden';
    else this.policies.push(...metaPolicies(policy));
  }

  /** `<meta charset>` and `<meta http-equiv="Content-Type">` (HTML Standard 4.2.5.4). */
  private readEncoding(label: string | null | undefined): void {
    if (!this.page.encoded && label != null && !meansUtf8(label)) this.obstacle ??= 'encoding';
  }
}

export const originOf = ({ secure, hostField }: FilteredRequest): PageOrigin => ({ secure, host: hostField.toLowerCase() });

const charsetOf = (content: string): string | null => /charset\s*=\s*["']?([^\s"';]+)/i.exec(content)?.[1] ?? null;

/** A label that no browser knows has no effect, and one of UTF-16 means UTF-8 here (HTML Standard 13.2.3.2). */
function meansUtf8(label: string): boolean {
  try {
    return new TextDecoder(label).encoding.startsWith('utf-');
  } catch {
    return true;
  }
}
