import { NAME, TOKEN_VARIABLE, VIEW_TOKEN_VARIABLE } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import { splitAddress } from '../../shared/values/address.ts';
import { isLoopback } from '../../shared/values/loopback.ts';
import type { SettingValues } from './layers.ts';

type AdminSettings = Pick<SettingValues, 'adminListen' | 'adminAllowRemote' | 'adminTlsCert' | 'adminTlsKey'>;

const TLS_FLAGS = '--admin-tls-cert PATH --admin-tls-key PATH';
/**
 * Wrong tokens are not rate-limited, so that the owner can't be locked out. A token that others can try to guess must therefore be long
 * (characters).
 */
const MIN_TOKEN = 16;

const refused = (reason: string): UsageError => new UsageError(`${NAME} dataplane: ${reason}`);

/** Remote access must be enabled explicitly and needs TLS. @throws UsageError with the flags to set. */
export function requireTlsForOthers({ adminListen, adminAllowRemote, adminTlsCert, adminTlsKey }: AdminSettings): void {
  if (adminTlsCert !== null && adminTlsKey === null)
    throw refused('--admin-tls-cert needs --admin-tls-key PATH, the private key of the certificate');
  if (adminTlsCert === null && adminTlsKey !== null)
    throw refused('--admin-tls-key needs --admin-tls-cert PATH, the certificate that it belongs to');
  if (adminAllowRemote && adminTlsCert === null) throw refused(`--admin-allow-remote needs a certificate: ${TLS_FLAGS}`);
  if (adminAllowRemote || isLoopback(splitAddress(adminListen).host)) return;
  throw refused(
    `--admin-listen ${adminListen} lets other machines reach the Admin API; if that is intended, add --admin-allow-remote${adminTlsCert === null ? ` ${TLS_FLAGS}` : ''}, otherwise use a loopback address (127.0.0.1, [::1], localhost)`,
  );
}

/** @throws UsageError if the token is missing or could be guessed. */
export function requireTokenForOthers({ adminAllowRemote }: AdminSettings, token: string | undefined): void {
  if (!adminAllowRemote || (token?.length ?? 0) >= MIN_TOKEN) return;
  const what = token ? `is shorter than ${MIN_TOKEN} characters` : 'is not set';
  throw refused(`--admin-allow-remote needs a token, and ${TOKEN_VARIABLE} ${what}; make one with: openssl rand -hex 32`);
}

/** @throws UsageError if the token that only reads is the one that may do everything, or could be guessed. */
export function requireViewToken(
  { adminAllowRemote }: AdminSettings,
  { token, viewToken }: { readonly token: string | undefined; readonly viewToken: string | undefined },
): void {
  if (!viewToken) return;
  if (viewToken === token)
    throw refused(`${VIEW_TOKEN_VARIABLE} is the same as ${TOKEN_VARIABLE}, so it would not only read: choose another`);
  if (adminAllowRemote && viewToken.length < MIN_TOKEN)
    throw refused(`${VIEW_TOKEN_VARIABLE} is shorter than ${MIN_TOKEN} characters; make one with: openssl rand -hex 32`);
}
