import { BEACON_SCRIPT_PATH } from '../../../../shared/name.ts';
import type { FilteredRequest } from '../../exchange/filter.ts';
import { type ContentSecurityPolicy, parsePolicies, scriptNonce } from './content-security-policy.ts';
import { type Attributes, HeadScanner } from './head-scanner.ts';

/** Where bytes of the page go next. @returns false when no more should come for now. */
export type Emit = (buffer: Buffer, from: number, to: number) => boolean;

const NOTHING = Buffer.alloc(0);

/** One page on its way to the client: passes its bytes on, with the script element in its place. */
export class Insertion {
  private readonly request: FilteredRequest;
  private readonly policies: ContentSecurityPolicy[];
  private readonly emit: Emit;
  private readonly scanner = new HeadScanner((name, attributes) => this.see(name, attributes));
  /** Bytes that may begin the place. */
  private held = NOTHING;
  private over = false;
  private based = false;
  private readable = true;

  /** @param policies of the fields of the answer; those in the page are added. */
  constructor(request: FilteredRequest, policies: readonly ContentSecurityPolicy[], emit: Emit) {
    this.request = request;
    this.policies = [...policies];
    this.emit = emit;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (this.over) return this.emit(buffer, from, to);
    if (this.held.length === 0) return this.search(buffer, from, to);
    // At most six bytes were held, and pages come in pieces of kilobytes: they are joined at most once a piece.
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
    if (outcome === 'searching') {
      this.held = Buffer.from(buffer.subarray(safe, to));
      return this.pass(buffer, from, safe);
    }
    this.held = NOTHING;
    if (outcome === 'none') {
      this.giveUp();
      return this.emit(buffer, from, to);
    }
    this.over = true;
    this.pass(buffer, from, safe);
    const element = this.element();
    if (element !== null) this.emit(element, 0, element.length);
    return this.emit(buffer, safe, to);
  }

  private pass(buffer: Buffer, from: number, to: number): boolean {
    return from === to || this.emit(buffer, from, to);
  }

  private giveUp(): void {
    this.over = true;
    this.request.beacon = 'no head';
  }

  private element(): Buffer | null {
    const { secure, hostField } = this.request;
    const nonce = this.readable ? scriptNonce(this.policies, { secure, host: hostField.toLowerCase() }, BEACON_SCRIPT_PATH) : null;
    if (nonce === null) {
      this.request.beacon = 'forbidden';
      return null;
    }
    this.request.beacon = 'added';
    // A `<base>` moves paths to another origin.
    const origin = this.based ? `${secure ? 'https' : 'http'}://${hostField}` : '';
    return Buffer.from(`<script defer src="${origin}${BEACON_SCRIPT_PATH}"${nonce && ` nonce="${nonce}"`}></script>`, 'latin1');
  }

  /** `<base>` and `<meta http-equiv="Content-Security-Policy">` (CSP Level 3, 3.3). */
  private see(name: string, attributes: Attributes): void {
    if (name === 'base') this.based ||= attributes.has('href');
    else if (attributes.get('http-equiv')?.toLowerCase() === 'content-security-policy') this.obey(attributes.get('content'));
  }

  private obey(policy: string | null | undefined): void {
    if (policy === undefined) return;
    // Character references are not decoded: a policy that has one counts as forbidding.
    if (policy === null || policy.includes('&')) this.readable = false;
    else this.policies.push(...parsePolicies(policy));
  }
}
