/** The names of the steps, apart from the steps themselves, which need a build and a cluster. */
export const stepNames = [
  "policies-ignored",
  "policies-enforced",
  "contract",
  "attacks",
  "gvisor",
  "pool",
  "warm-claims",
  "channels",
  "round-trips",
  "many-sessions",
  "gateway-killed",
  "api-restarted",
  "node-unplugged",
  "node-unnoticed",
];
