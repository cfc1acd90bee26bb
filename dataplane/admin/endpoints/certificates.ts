import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { covers } from '../../../shared/certificates/certificate-names.ts';
import { parseDomain } from '../../../shared/values/host.ts';
import { UnacknowledgedError } from '../../publish/publisher.ts';
import { CertificateDirectoryError } from '../../tls/lazy-certificate-manager.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { readJson } from '../http/body.ts';
import { ApiError } from '../http/errors.ts';
import { sendJson } from '../http/json.ts';
import type { Call } from './call.ts';
import { requireDomain } from './domain.ts';

/** No certificate authority issues certificates for more names. */
const MAX_DOMAINS = 100;

type Dependencies = Pick<AdminDependencies, 'certificates' | 'clock'>;

/** GET /certificates/root: the root that visitors of internal sites must trust (the media type is RFC 8555's for PEM chains). */
export function getInternalRoot({ response }: Call, { internalRoot }: Pick<AdminDependencies, 'internalRoot'>): void {
  const root = internalRoot();
  if (root === null) throw new ApiError('rootNotFound');
  response.writeHead(200, { 'content-type': 'application/pem-certificate-chain', 'content-length': Buffer.byteLength(root) });
  response.end(root);
}

/** POST /certificates: 201 once the pair is on disk and every worker presents it. */
export async function postCertificate({ request, response }: Call, { certificates, clock }: Dependencies): Promise<void> {
  const body = await readJson(request, response, clock);
  const domains = domainsOf(body.domains);
  const pair = readCertificate(textOf(body, 'certificate'), textOf(body, 'private_key'));
  if (!pair.ok) throw new ApiError('invalidCertificate', pair.reason);
  const reason = unfit(pair.value, domains, clock.now());
  if (reason !== null) throw new ApiError('invalidCertificate', reason);
  sendJson(response, 201, await orApiError(certificates.push(domains, pair.value)));
}

/** DELETE /certificates/{domain}: removes the certificate that was posted for it. */
export async function deleteCertificate({ response, segments: [segment = ''] }: Call, { certificates }: Dependencies): Promise<void> {
  if (segment === '') throw new ApiError('missingDomain');
  const deleted = segment.toLowerCase();
  const domains = await orApiError(certificates.remove(deleted));
  if (domains === null) throw new ApiError('certificateNotFound');
  sendJson(response, 200, { deleted, domains });
}

/** POST /certificates/{domain}: 202 once an order that waited after a failure is started again. */
export async function retryCertificate({ response, segments: [segment = ''] }: Call, { certificates }: Dependencies): Promise<void> {
  if (segment === '') throw new ApiError('missingDomain');
  const domains = await certificates.retry(segment.toLowerCase());
  if (domains === null) throw new ApiError('nothingToRetry');
  sendJson(response, 202, { retried: segment.toLowerCase(), domains });
}

function domainsOf(value: unknown): readonly string[] {
  if (value === undefined) throw new ApiError('invalidJson', 'missing member domains');
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_DOMAINS || value.some((item) => typeof item !== 'string'))
    throw new ApiError('invalidJson', `domains: expected a list of 1 to ${MAX_DOMAINS} strings`);
  return [...new Set(value.map((item) => requireDomain(parseDomain(String(item)))))];
}

function textOf(body: Record<string, unknown>, member: 'certificate' | 'private_key'): string {
  const value = body[member];
  if (value === undefined) throw new ApiError('invalidJson', `missing member ${member}`);
  if (typeof value !== 'string') throw new ApiError('invalidJson', `${member}: expected a string`);
  return value;
}

function unfit({ domains: covered, notAfter }: Certificate, domains: readonly string[], now: number): string | null {
  const bare = domains.find((domain) => !covers(covered, domain));
  if (bare !== undefined) return `certificate: it does not cover ${bare}, only ${covered.slice(0, 5).join(', ')}; leave that domain out`;
  return notAfter <= now ? `certificate: it was good until ${new Date(notAfter).toISOString()}; post a newer one` : null;
}

/** Turns failures of the disk and of the workers into API errors. */
async function orApiError<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof CertificateDirectoryError) throw new ApiError('unsaved', error.message);
    if (error instanceof UnacknowledgedError) throw new ApiError('unacknowledged', error.message);
    if (error instanceof Error && 'code' in error && typeof error.code === 'string')
      throw new ApiError('unsaved', `the certificate directory cannot be written (${error.code})`);
    throw error;
  }
}
