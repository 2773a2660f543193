// Package prompts holds everything that models are told, one template file a purpose.
//
// In goes typed data (issue, spec, plan, code, failures); out come the system and the user
// message of a call, the texts of strategies and recipes, and the answers of the coder's actions.
//
// Text that was not written by autocode is fenced, labelled as data and stripped of hidden
// characters. Nothing in it can add to what the loop may do: permissions live in code, not here.
package prompts
