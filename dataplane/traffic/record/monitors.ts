/**
 * Programs that request pages to see whether a site is up, as they name themselves in User-Agent: services, load balancers' and
 * orchestrators' probes, monitoring systems.
 */
const MONITORS = [
  // Services
  'UptimeRobot',
  'Better ?Uptime',
  'BetterStack',
  'Pingdom',
  'StatusCake',
  'Site24x7',
  'HetrixTools',
  'Freshping',
  'updown\\.io',
  'Uptrends',
  'Cronitor',
  'Checkly',
  'Hyperping',
  'Oh ?Dear',
  'Pulsetic',
  'Montastic',
  'NodePing',
  'Monitis',
  'AppBeat',
  'Cula\\.io',
  'DatadogSynthetics',
  'Datadog/Synthetics',
  'NewRelicPinger',
  'NewRelicSynthetics',
  'Dynatrace',
  'GoogleStackdriverMonitoring',
  'CloudWatchSynthetics',
  'Catchpoint',
  // Load balancers and orchestrators
  'ELB-HealthChecker',
  'Amazon-Route53-Health-Check',
  'GoogleHC/',
  'Cloudflare-Healthchecks',
  'Cloudflare-Traffic-?Manager',
  'AlwaysOn',
  'Azure Traffic Manager',
  'Edge Health Probe',
  'DigitalOcean Uptime Probe',
  'kube-probe/',
  'Envoy/HC',
  'Consul Health Check',
  // Programs that people run themselves
  'Prometheus/',
  'Blackbox[ -]Exporter',
  'Uptime-Kuma',
  'Gatus/',
  'check_http/',
  'Nagios',
  'Icinga',
  'Zabbix',
  'Statping',
  'synthetic-monitoring-agent',
  'Monit/',
];
const PATTERN = new RegExp(MONITORS.join('|'), 'i');

/** Whether a User-Agent is that of a program that only checks whether a site is up. */
export const monitors = (userAgent: string): boolean => PATTERN.test(userAgent);
