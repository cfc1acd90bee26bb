import type { Log } from '../shared/runtime/log/log.ts';
import { splitAddress } from '../shared/values/address.ts';
import type { Admin } from './admin/admin.ts';
import type { OwnCertificate } from './admin/own-certificate.ts';
import { listenOrUsageError } from './listen-error.ts';
import type { DataplaneSettings } from './settings/settings.ts';

const NO_SOCKET =
  "the Admin API can't be reached through its socket, because the state directory can't be written; it is tried again every 10 s";

/**
 * Opens the Admin API. With `unwritable`, the state directory can't be written: what it contains is served although there is no place for
 * the socket yet. @throws UsageError.
 */
export async function listenAdmin(
  admin: Admin,
  { adminListen, adminSocket, probeListen }: DataplaneSettings,
  certificate: OwnCertificate | null,
  unwritable: Log | null,
): Promise<void> {
  const tcp = splitAddress(adminListen);
  await listenOrUsageError('--admin-listen', () => admin.listenTcp(tcp.host, Number(tcp.port), certificate), adminListen);
  if (adminSocket !== null) {
    const socket = adminSocket;
    if (unwritable === null) await listenOrUsageError('--admin-socket', () => admin.listenSocket(socket), socket);
    else
      await admin.listenSocketLate(socket, {
        failed: (error) => unwritable.error({ socket, error: String(error) }, NO_SOCKET),
        opened: () => unwritable.info({ socket }, 'the Admin API can be reached through its socket now'),
      });
  }
  if (probeListen === null) return;
  const probe = splitAddress(probeListen);
  await listenOrUsageError('--probe-listen', () => admin.listenProbe(probe.host, Number(probe.port)), probeListen);
}
